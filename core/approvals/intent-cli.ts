import { LANGUAGES, readIntent, type Intent, type Language } from './words/intent.ts';

/** Where `nomos intent` reads and writes. */
export interface IntentIo {
  readonly stdin: AsyncIterable<string | Uint8Array>;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  /** The environment that `NOMOS_LANGUAGES` is read from; the process's own by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** A call that cannot be carried out as given; the message says what is wrong and what is allowed. */
class UsageError extends Error {
  readonly code = 'usage';
}

interface Call {
  readonly jsonl: boolean;
  readonly json: boolean;
  readonly help: boolean;
  readonly languages: readonly Language[];
  readonly words: readonly string[];
}

const HELP = `nomos intent - what a message says about the thing that waits

Usage: nomos intent [--json] [--languages de,es,fr] [TEXT]
       nomos intent --jsonl [--languages de,es,fr]

Without TEXT the message is read from standard input, as a whole.

  --jsonl          read lines {"text": …}, write lines {"text", "assent", "confirm", "negation"}
                   in the same order; a line that cannot be read is named on standard error
  --json           print all that was read as JSON
  --languages LIST word lists besides English (default: NOMOS_LANGUAGES)
  --help           this text

assent and confirm are true only if the message as a whole would approve or confirm.
Exit code: 0 done, 2 wrong use or a line that cannot be read.
`;

/**
 * `nomos intent`: prints what the word lists make of a message, or of one per line. Returns the
 * exit code: 0, or 2 for a wrong call or for input lines that could not be read (the others are
 * answered all the same).
 */
export async function runIntent(argv: readonly string[], io: IntentIo): Promise<number> {
  try {
    const call = readCall(argv, io.env ?? process.env);
    if (call.help) io.stdout.write(HELP);
    else if (call.jsonl) return await answerLines(call, io);
    else await answerOne(call, io);
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    io.stderr.write(`nomos intent: ${error.message}\n`);
    return 2;
  }
}

function readCall(argv: readonly string[], env: NonNullable<IntentIo['env']>): Call {
  let [jsonl, json, help] = [false, false, false];
  let languages = env['NOMOS_LANGUAGES'] ?? '';
  let source = 'NOMOS_LANGUAGES';
  const words: string[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const argument = argv[at] ?? '';
    if (argument === '--') {
      words.push(...argv.slice(at + 1));
      break;
    }
    if (argument === '--jsonl') jsonl = true;
    else if (argument === '--json') json = true;
    else if (argument === '--help' || argument === '-h') help = true;
    else if (argument === '--languages' || argument.startsWith('--languages=')) {
      source = '--languages';
      if (argument === source) at += 1;
      languages = argument === source ? (argv[at] ?? '') : argument.slice(source.length + 1);
      if (languages === '') throw new UsageError(`--languages needs a list such as de,es`);
    } else if (/^--?[a-z]/i.test(argument)) {
      throw new UsageError(
        `unknown option ${argument}; allowed are --jsonl, --json, --languages and --help (a message that begins with a dash goes after --)`,
      );
    } else words.push(argument);
  }
  if (jsonl && words.length > 0)
    throw new UsageError('--jsonl reads standard input and takes no TEXT');
  return { jsonl, json, help, languages: readLanguages(languages, source), words };
}

function readLanguages(list: string, source: string): readonly Language[] {
  const names = list.split(/[\s,]+/).filter((name) => name !== '');
  return names.map((name) => {
    const language = LANGUAGES.find((known) => known === name.toLowerCase());
    if (language === undefined) {
      throw new UsageError(
        `${source}: "${name}" has no word list; allowed are ${LANGUAGES.join(', ')}`,
      );
    }
    return language;
  });
}

async function answerOne(call: Call, io: IntentIo): Promise<void> {
  const text = call.words.length > 0 ? call.words.join(' ') : await readAll(io.stdin);
  if (text.trim() === '') throw new UsageError('no message given');
  const intent = readIntent(text, call.languages);
  io.stdout.write(call.json ? `${JSON.stringify({ text, ...intent })}\n` : describe(intent));
}

function describe(intent: Intent): string {
  const said = (
    [
      'assent',
      'confirm',
      'negation',
      'denial',
      'partial',
      'conditional',
      'question',
      'bare',
    ] as const
  ).map((key) => `${key}: ${intent[key] ? 'yes' : 'no'}`);
  if (intent.confirmRest !== '') said.push(`confirms: ${intent.confirmRest}`);
  const { reference } = intent;
  if (reference !== undefined) {
    const words = [
      ...reference.names,
      ...reference.actions,
      ...reference.nouns,
      ...[reference.scope ?? []].flat(),
    ];
    said.push(`names: ${words.join(', ')}`);
  }
  return `${said.join('\n')}\n`;
}

async function answerLines(call: Call, io: IntentIo): Promise<number> {
  let number = 0;
  let code = 0;
  for await (const line of linesOf(io.stdin)) {
    number += 1;
    if (line.trim() === '') continue;
    const text = readLine(line);
    if (typeof text !== 'string') {
      io.stderr.write(`nomos intent: line ${number}: ${text.fault}; expected {"text": "…"}\n`);
      code = 2;
      continue;
    }
    const { assent, confirm, negation } = readIntent(text, call.languages);
    io.stdout.write(`${JSON.stringify({ text, assent, confirm, negation })}\n`);
  }
  return code;
}

function readLine(line: string): string | { readonly fault: string } {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { fault: 'not JSON' };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { fault: 'not a JSON object' };
  }
  const text: unknown = (value as { text?: unknown }).text;
  if (text === undefined) return { fault: 'the field "text" is missing' };
  return typeof text === 'string' ? text : { fault: 'the field "text" is not a string' };
}

async function readAll(input: IntentIo['stdin']): Promise<string> {
  const lines: string[] = [];
  for await (const line of linesOf(input)) lines.push(line);
  return lines.join('\n');
}

/** The lines of a stream, without their ends; bytes that are no UTF-8 become U+FFFD. */
async function* linesOf(input: IntentIo['stdin']): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  const whole = (last: string): string => {
    const line = pieces.join('') + last;
    pieces = [];
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  };
  for await (const chunk of input) {
    const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    const [first = '', ...more] = text.split('\n');
    if (more.length === 0) {
      pieces.push(first);
      continue;
    }
    yield whole(first);
    const last = more.pop() ?? '';
    for (const line of more) yield whole(line);
    pieces = [last];
  }
  const last = whole(decoder.decode());
  if (last !== '') yield last;
}
