import type { Resumption } from '../../core/tasks/resume.ts';

/** What came of it, in words; undefined where the cards say it all. */
export function resumptionWords(outcome: Resumption): string | undefined {
  switch (outcome) {
    case 'resumed':
      return undefined;
    case 'working':
      return 'It is at work already.';
    case 'just_resumed':
      return 'It was resumed a moment ago. Give it 30 seconds.';
    case 'ended':
      return 'This task has ended. Write what you want, and it opens again.';
    case 'archived':
      return 'This task is archived. Start a new one in the lobby.';
  }
}
