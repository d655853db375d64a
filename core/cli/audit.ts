import { parseArgs } from 'node:util';
import { verifyAudit } from '../audit/verify.ts';
import { EXIT, UsageError, type Command } from './command.ts';
import { withDatabase } from './connect.ts';

/** `nomos audit verify`. */
export const auditCommand: Command = {
  name: 'audit',
  usage: `nomos audit verify [--json]

Reads the audit log from its first entry to its last: each must have the hash of its own content and carry the hash of the one
before. Exits with 1 when one does not, and names it. The end of the log cannot prove itself: note the number of entries.`,
  async run(argv, io) {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: { json: { type: 'boolean', default: false } },
    });
    if (positionals[0] !== 'verify' || positionals.length > 1) {
      throw new UsageError(`audit takes verify${given(positionals)}.`);
    }
    const { entries, broken } = await withDatabase(verifyAudit);
    if (values.json) {
      const id = broken === null ? null : { id: Number(broken.id), why: broken.why };
      io.stdout.write(`${JSON.stringify({ ok: broken === null, entries, broken: id })}\n`);
    } else if (broken === null) {
      io.stdout.write(`The audit log is whole: ${entries} entries.\n`);
    } else {
      const why =
        broken.why === 'changed'
          ? 'its content is not what its hash was made from'
          : 'it does not follow the entry before it: one was removed or put in between';
      io.stdout.write(`The audit log is BROKEN at entry ${broken.id}: ${why}.\n`);
    }
    return broken === null ? EXIT.ok : EXIT.failed;
  },
};

function given(positionals: readonly string[]): string {
  return positionals.length === 0 ? '' : `, not "${positionals.join(' ')}"`;
}
