import { NomosError } from '../../core/errors.ts';
import { findRunbook, listRunbooks, runbookSlug } from '../../core/knowledge/runbooks.ts';
import { decideOffer } from '../handlers/runbook.ts';
import { runbookCard, runbooksCard } from '../cards/runbook.ts';
import { CommandError, type Command, type CommandCall } from './command.ts';

const DECISION = /^(approve|deny)\s+(.+)$/is;

/** `!runbooks`: all of them, one, or a word on one that is offered (K10, K11). */
export const runbooksCommand: Command = {
  name: 'runbooks',
  takes: [
    {
      name: 'what',
      what: 'a runbook’s name; or approve or deny and the name of one that is offered; nothing lists them',
      required: false,
      rest: true,
    },
  ],
  does: 'Lists the runbooks, shows one, or keeps or drops one that is offered.',
  needs: 'viewer',
  async run(call) {
    const { unit } = call.context;
    const what = call.args['what'];
    if (what === undefined) return runbooksCard(await listRunbooks(unit.db, { offered: true }));
    const [, verdict, name] = DECISION.exec(what) ?? [];
    if (verdict !== undefined && name !== undefined) {
      return decide(call, verdict.toLowerCase() === 'approve' ? 'approve' : 'deny', name);
    }
    const { row, runbook } = await named(call, what);
    return runbookCard(runbook, row.status);
  },
};

async function decide(call: CommandCall, verdict: 'approve' | 'deny', name: string) {
  const slug = runbookSlug(name);
  const row = await call.context.unit.db.runbook.findUnique({ where: { slug } });
  if (row === null || row.origin !== 'learned') {
    throw new CommandError(
      `No runbook “${name.slice(0, 60)}” is offered.`,
      '!runbooks lists those that are.',
    );
  }
  return decideOffer(call.context, row.id, verdict, 'command');
}

async function named(call: CommandCall, name: string) {
  try {
    return await findRunbook(call.context.unit.db, name, { offered: true });
  } catch (error) {
    // What a model is told, an operator can mend just as well.
    if (!(error instanceof NomosError) || error.code !== 'runbook_unknown') throw error;
    throw new CommandError(error.message, error.hint);
  }
}
