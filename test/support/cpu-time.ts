/**
 * The milliseconds of processor time that `work` takes in this process, user and system together. A machine that is busy with other work makes
 * it wait, and that does not count: for tests which tell work in line with its input's length from work that grows faster.
 */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
