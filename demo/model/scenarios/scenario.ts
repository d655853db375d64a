import type { Job } from '../job.ts';
import type { Reply } from '../wire.ts';

/** Something that the demo model can play. */
export interface Scenario {
  /** What an operator can ask for, as an example. */
  readonly example: string;
  /** Whether the operator's words ask for it. */
  matches(job: Job): boolean;
  /** The next answer, from all that has happened since the operator asked. */
  next(job: Job): Reply;
}
