import { setPaused } from '../../core/policy/pause.ts';
import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import { count } from '../cards/words.ts';
import type { Command } from './command.ts';

/** `!pause`: the kill switch (P7). */
export const pauseCommand: Command = {
  name: 'pause',
  takes: [],
  does: 'Kill switch: every command waits for approval, even reads, and all grants are closed.',
  needs: 'approver',
  async run({ context: { unit, operator } }) {
    const changed = await setPaused(unit, true, operator.userId);
    return answerTo(
      changed
        ? rich`⏸️ Paused. Every command waits for approval now, and all grants are closed. !unpause ends it.`
        : rich`It is paused already. !unpause ends it.`,
    );
  },
};

/** `!unpause`. */
export const unpauseCommand: Command = {
  name: 'unpause',
  takes: [],
  does: 'Ends !pause. Grants that were closed stay closed; what waits already still waits.',
  needs: 'approver',
  async run({ context: { unit, operator } }) {
    const changed = await setPaused(unit, false, operator.userId);
    if (!changed) return answerTo(rich`It was not paused.`);
    const left = await unit.db.approval.count({ where: { status: 'pending' } });
    return answerTo(
      rich`▶️ Unpaused. What is asked for from now on runs as before.`,
      left === 0
        ? undefined
        : rich`${count(left, 'thing', 'things')} asked for until now still ${left === 1 ? 'waits' : 'wait'} for you, reads too: !approvals lists ${left === 1 ? 'it' : 'them'}.`,
    );
  },
};
