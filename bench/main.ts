/**
 * The benchmarks of docs/benchmarks.md: `npm run bench`, some of them by `npm run bench -- B4 B8`, in small by `--quick`. Prints
 * a table and writes it to bench/results.json and docs/benchmarks.md, in which earlier results of benchmarks that were not run now stay.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Outcome, Results } from './lib/report.ts';

// Read when the program's log is loaded.
process.env['NOMOS_LOG_LEVEL'] ??= 'silent';
const { benchmarks } = await import('./index.ts');
const { machine, merged, page, table } = await import('./lib/report.ts');
const { BenchServices } = await import('./lib/services.ts');

const PAGE = fileURLToPath(new URL('../docs/benchmarks.md', import.meta.url));
const RESULTS = fileURLToPath(new URL('results.json', import.meta.url));
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const asked = new Set(positionals.map((id) => id.toUpperCase()));
const unknown = [...asked].filter((id) => benchmarks.every((one) => one.id !== id));
if (unknown.length > 0) {
  say(
    `There is no ${unknown.join(', ')}. There are: ${benchmarks.map(({ id }) => id).join(', ')}.`,
  );
  process.exit(2);
}

/** The last line of an error's words that says something. */
const words = (error: unknown): string =>
  String(error)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .at(-1) ?? 'an error without words';

const outcomes: Outcome[] = [];
{
  await using services = await BenchServices.open();
  for (const { id, title, run } of benchmarks) {
    if (asked.size > 0 && !asked.has(id)) continue;
    say(`${id}: ${title} …`);
    const from = performance.now();
    const tookMs = (): number => Math.round(performance.now() - from);
    try {
      const figures = await run({ services, quick: values.quick, say: (line) => say(`  ${line}`) });
      const outcome = { id, title, tookMs: tookMs(), figures };
      outcomes.push(outcome);
      say(table([outcome]));
    } catch (error) {
      // One that cannot run here does not keep the others from it.
      outcomes.push({ id, title, tookMs: tookMs(), figures: [], error: words(error) });
      say(`  ${error instanceof Error ? error.stack : String(error)}`);
      process.exitCode = 1;
    }
  }
}
say(`\n${table(outcomes)}`);
if (!values.quick) {
  const before = existsSync(RESULTS)
    ? (JSON.parse(readFileSync(RESULTS, 'utf8')) as Results).outcomes
    : [];
  const results: Results = {
    version: 1,
    at: new Date().toISOString(),
    quick: false,
    machine: machine(),
    outcomes: merged(before, outcomes),
  };
  writeFileSync(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
  const text = readFileSync(PAGE, 'utf8');
  const [begin, end] = ['<!-- bench: begin -->', '<!-- bench: end -->'].map((mark) =>
    text.indexOf(mark),
  );
  if (begin === undefined || end === undefined || begin < 0 || end < begin)
    throw new Error('docs/benchmarks.md has lost the marks between which its table stands');
  const head = text.slice(0, text.indexOf('\n', begin) + 1);
  writeFileSync(PAGE, `${head}\n${page(results)}\n\n${text.slice(end)}`);
  say('\nWritten to bench/results.json and docs/benchmarks.md.');
}
process.exit();
