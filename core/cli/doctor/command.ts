import { parseArgs } from 'node:util';
import { EXIT, type Command } from '../command.ts';
import { examine } from './examine.ts';
import type { Finding, State } from './finding.ts';

const MARKS: Readonly<Record<State, string>> = {
  ok: 'ok      ',
  warning: 'WARNING ',
  failed: 'FAILED  ',
  skipped: 'skipped ',
};

/** `nomos doctor`. */
export const doctorCommand: Command = {
  name: 'doctor',
  usage: `nomos doctor [--json]

Looks at each piece of the configuration as a start would use it: settings, database, Redis, homeserver and account, model,
files, SSH key, and whether each host answers. Says what is wrong and how to mend it. Changes nothing, runs no command on a
target and asks nothing of the model. Exits with 1 when something failed; warnings do not count.`,
  async run(argv, io) {
    const { values } = parseArgs({
      args: argv,
      options: { json: { type: 'boolean', default: false } },
    });
    const findings = await examine(process.env);
    const good = findings.every((finding) => finding.state !== 'failed');
    if (values.json) io.stdout.write(`${JSON.stringify({ ok: good, findings })}\n`);
    else io.stdout.write(`${findings.map(line).join('\n')}\n\n${summary(findings)}\n`);
    return good ? EXIT.ok : EXIT.failed;
  },
};

function line({ name, state, detail, mend }: Finding): string {
  const indented = (text: string): string => text.replaceAll('\n', '\n        ');
  const rest = mend === undefined ? '' : `\n        → ${indented(mend)}`;
  return `${MARKS[state]}${name}: ${indented(detail)}${rest}`;
}

function summary(findings: readonly Finding[]): string {
  const count = (state: State): number => findings.filter((one) => one.state === state).length;
  if (count('failed') === 0) {
    return count('warning') === 0 ? 'All is well.' : `It can start; ${count('warning')} warnings.`;
  }
  return `${count('failed')} of ${findings.length} failed.`;
}
