/** `nomos classify`: the classifier on the command line, for one command or for a stream of them. */
import { classify } from './classify.ts';
import { isRisk, RISKS } from './risk.ts';
import type { Risk } from './risk.ts';

/** The streams that a command-line program uses. Handed in, so that nothing is tied to the process. */
export interface Streams {
  stdin: AsyncIterable<string | Uint8Array>;
  stdout: { write(text: string): unknown };
  stderr: { write(text: string): unknown };
}

const HELP = `Usage: nomos classify [--declared RISK] [--json] [COMMAND]
       nomos classify --jsonl

Says which class a shell command has and why. Without COMMAND the command is read from standard input.

  --declared RISK  what the caller says about it; the verdict is the stricter of both
  --json           one object {"command","risk","reasons"} instead of text
  --jsonl          reads lines {"command","declared"?}, writes lines {"command","risk","reasons"} in order
  --help           this text

RISK is one of: ${RISKS.join(', ')}
Exit codes: 0 classified, 2 bad usage or a bad line (the other lines are still answered).
`;

interface Wanted {
  jsonl: boolean;
  json: boolean;
  help: boolean;
  declared: Risk | undefined;
  command: string | undefined;
}

/** Runs `nomos classify` with the words behind `classify`; resolves to the exit code. */
export async function runClassify(argv: string[], io: Streams): Promise<number> {
  const wanted = readArguments(argv);
  if (typeof wanted === 'string') {
    io.stderr.write(`nomos classify: ${wanted}\nTry: nomos classify --help\n`);
    return 2;
  }
  if (wanted.help) {
    io.stdout.write(HELP);
    return 0;
  }
  if (wanted.jsonl) return await stream(io, wanted.declared);
  const command = wanted.command ?? (await readAll(io.stdin)).replace(/\n$/, '');
  const verdict = classify(command, wanted.declared);
  if (wanted.json) io.stdout.write(`${JSON.stringify({ command, ...verdict })}\n`);
  else
    io.stdout.write(
      `${verdict.risk}\n${verdict.reasons.map((reason) => `  ${reason}\n`).join('')}`,
    );
  return 0;
}

function readArguments(argv: readonly string[]): Wanted | string {
  const wanted: Wanted = {
    jsonl: false,
    json: false,
    help: false,
    declared: undefined,
    command: undefined,
  };
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] as string;
    if (word === '--jsonl') wanted.jsonl = true;
    else if (word === '--json') wanted.json = true;
    else if (word === '--help' || word === '-h') wanted.help = true;
    else if (word === '--declared' || word.startsWith('--declared=')) {
      const value = word === '--declared' ? argv[++at] : word.slice('--declared='.length);
      if (!isRisk(value))
        return `--declared ${JSON.stringify(value ?? '')}: must be one of ${RISKS.join(', ')}`;
      wanted.declared = value;
    } else if (word === '--') {
      wanted.command = argv.slice(at + 1).join(' ');
      break;
    } else if (word.startsWith('--')) return `unknown option ${JSON.stringify(word)}`;
    else if (wanted.command !== undefined) return 'more than one COMMAND: quote it as one word';
    else wanted.command = word;
  }
  if (wanted.jsonl && wanted.command !== undefined)
    return '--jsonl reads standard input and takes no COMMAND';
  return wanted;
}

/** Most text that waits to be written. */
const CHUNK = 65_536;

async function stream(io: Streams, declared: Risk | undefined): Promise<number> {
  let number = 0;
  let bad = 0;
  let out = '';
  for await (const line of lines(io.stdin)) {
    number++;
    if (line.trim() === '') continue;
    const answer = answerTo(line, declared);
    if (answer.fault !== undefined) {
      bad++;
      io.stderr.write(`nomos classify: line ${number}: ${answer.fault}\n`);
    } else out += `${answer.text}\n`;
    if (out.length > CHUNK) {
      io.stdout.write(out);
      out = '';
    }
  }
  if (out !== '') io.stdout.write(out);
  return bad === 0 ? 0 : 2;
}

type Answer = { text: string; fault?: undefined } | { fault: string };

function answerTo(line: string, fallback: Risk | undefined): Answer {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return { fault: `not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { fault: 'must be an object {"command","declared"?}' };
  const { command, declared = fallback, ...rest } = value as Record<string, unknown>;
  if (typeof command !== 'string') return { fault: '"command" must be a string' };
  if (declared !== undefined && declared !== null && !isRisk(declared)) {
    return {
      fault: `"declared" must be one of ${RISKS.join(', ')}, not ${JSON.stringify(declared)}`,
    };
  }
  const unknown = Object.keys(rest)[0];
  if (unknown !== undefined)
    return {
      fault: `unknown key ${JSON.stringify(unknown)}; allowed are "command" and "declared"`,
    };
  return { text: JSON.stringify({ command, ...classify(command, declared ?? undefined) }) };
}

async function* lines(chunks: AsyncIterable<string | Uint8Array>): AsyncGenerator<string> {
  let rest = '';
  for await (const text of texts(chunks)) {
    const parts = (rest + text).split('\n');
    rest = parts.pop() as string;
    yield* parts;
  }
  if (rest !== '') yield rest;
}

async function* texts(chunks: AsyncIterable<string | Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of chunks)
    yield typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
  yield decoder.decode();
}

async function readAll(chunks: AsyncIterable<string | Uint8Array>): Promise<string> {
  let all = '';
  for await (const text of texts(chunks)) all += text;
  return all;
}

if (import.meta.main) {
  process.exitCode = await runClassify(process.argv.slice(2), {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
  });
}
