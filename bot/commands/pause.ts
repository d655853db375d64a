import { setPaused } from '../../core/policy/pause.ts';
import type { Card } from '../cards/card.ts';
import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import { switchCard } from '../cards/switch.ts';
import type { HandlerContext } from '../handlers/context.ts';
import type { Command } from './command.ts';

/** `!pause`: the kill switch (P7). */
export const pauseCommand: Command = {
  name: 'pause',
  takes: [],
  does: 'Kill switch: every command waits for approval, even reads, and all grants are closed.',
  needs: 'approver',
  async run({ context }) {
    const { unit, operator } = context;
    const changed = await setPaused(unit, true, operator.userId);
    if (!changed) return answerTo(rich`It is paused already. !unpause ends it.`);
    return elsewhere(context, true);
  },
};

/** `!unpause`. */
export const unpauseCommand: Command = {
  name: 'unpause',
  takes: [],
  does: 'Ends !pause. Grants that were closed stay closed; what waits already still waits.',
  needs: 'approver',
  async run({ context }) {
    const { unit, operator } = context;
    const changed = await setPaused(unit, false, operator.userId);
    if (!changed) return answerTo(rich`It was not paused.`);
    return elsewhere(context, false);
  },
};

/** The lobby is told of it anyway: only who wrote in another room gets an answer there. */
async function elsewhere(
  { unit, event, operator }: HandlerContext,
  paused: boolean,
): Promise<Card | undefined> {
  if (event.room.kind === 'lobby') return undefined;
  const waiting = await unit.db.approval.count({ where: { status: 'pending' } });
  return switchCard({ paused, by: operator.userId, waiting });
}
