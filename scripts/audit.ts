/**
 * Asks the npm registry for known faults of what production uses (Z8). Each one must have its reason in
 * docs/decisions/dependencies.md, else this ends with 1. A registry that does not answer is told, and is no failure.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { exceptionsIn, readAudit } from './lib/audit-report.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
});
const answer = readAudit(stdout);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
if (!answer.answered) {
  say(`The registry did not answer the audit, so nothing is known: ${answer.why}`);
} else {
  const reasons = exceptionsIn(readFileSync(`${root}docs/decisions/dependencies.md`, 'utf8'));
  for (const { id, name, severity, title } of answer.advisories) {
    const known = reasons.has(id);
    say(`${known ? 'known' : 'OPEN '} ${id} ${name} (${severity}): ${title}`);
    if (!known) process.exitCode = 1;
  }
  say(`${answer.advisories.length} advisories for what production uses.`);
}
