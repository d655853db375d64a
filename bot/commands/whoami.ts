import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import { slug } from '../cards/words.ts';
import type { Command } from './command.ts';

const MAY = {
  viewer: 'You may ask, read and stop. You may not decide.',
  approver: 'You may ask, decide, cancel and pause.',
  admin: 'You may do everything, also what a rule keeps for admins.',
} as const;

/** `!whoami`: who the bot takes the sender for. */
export const whoamiCommand: Command = {
  name: 'whoami',
  takes: [],
  does: 'Says who you are to the bot and what you may do.',
  needs: 'viewer',
  async run({ context: { operator } }) {
    return answerTo(
      rich`You are ${slug(operator.userId)}, ${operator.role}. ${MAY[operator.role]}`,
    );
  },
};
