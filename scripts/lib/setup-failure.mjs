/** A set-up that cannot go on. Its message is shown to the person as it is: what is wrong, and the way out. */
export class SetupFailure extends Error {
  name = 'SetupFailure';
}
