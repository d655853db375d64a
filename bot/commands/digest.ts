import { digestCard } from '../cards/digest.ts';
import { digestState } from '../projector/load-digest.ts';
import { TASK_ARGUMENT, type Command } from './command.ts';

/** `!digest`: the balance of a task so far, or of its end (C6). */
export const digestCommand: Command = {
  name: 'digest',
  takes: [TASK_ARGUMENT],
  does: 'Sums a task up: commands, how they were allowed, time, tokens.',
  needs: 'viewer',
  async run({ context: { unit }, task }) {
    return digestCard(await digestState(unit.db, await task()));
  },
};
