/** What a fault point does when a test armed it: it may wait, throw, or end the process. */
export type Fault = (name: string) => void | Promise<void>;

const armed = new Map<string, Fault>();

/** Arms a fault point in this process until it is disarmed. For the fault tests. */
export function armFault(name: string, fault: Fault): void {
  armed.set(name, fault);
}

/** Disarms one fault point, or all of them. */
export function disarmFaults(name?: string): void {
  if (name === undefined) armed.clear();
  else armed.delete(name);
}

// A process under test is told by its environment where to die: `name` or `name#3` for the third passing.
const fatal = process.env['NOMOS_FAULT_KILL'];
let fatalPassings = 0;

/**
 * A named place before a commit or an outside call where a test can cut in. Inert unless armed by `armFault` or by
 * `NOMOS_FAULT_KILL=name[#n]`, which ends this process by SIGKILL at its n-th passing (default the first).
 */
export async function faultPoint(name: string): Promise<void> {
  if (fatal !== undefined) {
    const [wanted, count] = fatal.split('#');
    if (wanted === name && ++fatalPassings === Number(count ?? 1)) {
      process.kill(process.pid, 'SIGKILL');
      await new Promise<never>(() => {});
    }
  }
  const fault = armed.get(name);
  if (fault !== undefined) await fault(name);
}
