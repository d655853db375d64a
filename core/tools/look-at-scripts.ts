import type { Execution } from '../db/rows.ts';
import { awaitExecution } from '../executions/await.ts';
import { BATCH_WIDTH } from '../executions/batch/gate.ts';
import { requestCancel } from '../executions/cancel.ts';
import { requestExecution } from '../executions/request.ts';
import { MAX_SCRIPT_BYTES, type SeenScript } from '../executions/scripts.ts';
import { isFinal } from '../executions/states.ts';
import { faultPoint } from '../faults.ts';
import { NomosError } from '../errors.ts';
import { classify, scriptsRun } from '../policy/classify.ts';
import { NUL_SIGN } from '../text/safe.ts';
import { shellWord } from '../text/shell-word.ts';
import { cutLabel } from '../text/label.ts';
import type { ChangeContext } from './tool.ts';

/** Most scripts of one command that are looked at; of more none is fixed. */
const MAX_SCRIPTS = 3;
/** How much of a script is read to be judged. */
const READ_BYTES = 64 * 1024;
/** How long one look may take. */
const LOOK_MS = 10_000;

/** The pass was stopped, or its process is ending, while a script was read: nothing is asked for with a content that is not fixed. */
class LookInterrupted extends NomosError {
  constructor(path: string) {
    super(
      'look_interrupted',
      'operator',
      `Reading ${path} was interrupted, so the change was not asked for.`,
      { hint: 'If it is still wanted, call again.' },
    );
  }
}

/** A change that is about to be asked for. */
interface Change {
  target: string;
  command: string;
  purpose: string;
}

/** {@link lookAtScripts} on several targets, as many at a time as a batch runs. Undefined when the command runs no script. */
export async function lookAtScriptsOn(
  context: ChangeContext,
  targets: readonly string[],
  change: Omit<Change, 'target'>,
): Promise<ReadonlyMap<string, readonly SeenScript[]> | undefined> {
  if (scriptsRun(change.command).length === 0) return undefined;
  const found = new Map<string, readonly SeenScript[]>();
  for (let at = 0; at < targets.length; at += BATCH_WIDTH) {
    await Promise.all(
      targets.slice(at, at + BATCH_WIDTH).map(async (target) => {
        found.set(target, await lookAtScripts(context, { ...change, target }));
      }),
    );
  }
  return found;
}

/**
 * Reads the scripts that a change would run, on its target and right before it is asked for: what is in them is judged, and its hash is part of what
 * is decided (A16). A look is a read like any other; one that cannot be made only means that the content is not fixed, which the
 * card says. Throws `TargetError` for a target that no command is sent to, and `look_interrupted` when the pass was stopped meanwhile.
 */
export async function lookAtScripts(
  context: ChangeContext,
  change: Change,
): Promise<readonly SeenScript[]> {
  const used = scriptsRun(change.command);
  const seen: SeenScript[] = [];
  for (const { path, shown, program, why } of used) {
    const script = { shown, program, path: path ?? null };
    const no = (reason: string): SeenScript => ({
      ...script,
      sha256: null,
      why: reason,
      text: null,
    });
    if (path === undefined) seen.push(no(why ?? 'it is not known where it is'));
    else if (used.length > MAX_SCRIPTS) seen.push(no(`the command runs ${used.length} scripts`));
    else {
      const found = await look(context, change, path);
      seen.push(typeof found === 'string' ? no(found) : { ...script, why: null, ...found });
    }
  }
  return seen;
}

/** One look; a text says why it told nothing. */
async function look(
  context: ChangeContext,
  change: Change,
  path: string,
): Promise<{ sha256: string; text: string | null } | string> {
  const file = shellWord(path);
  // It fails in no case that is to be expected: a read that fails gets a card of its own.
  const command = `test ! -f ${file} || { wc -c < ${file} && head -c ${MAX_SCRIPT_BYTES + 1} < ${file} | sha256sum && head -c ${READ_BYTES} < ${file}; } || true`;
  if (classify(command).risk !== 'read_only') return 'it may hold secrets, so it is not read';
  const { sessionId, turnId, passId, signal } = context;
  const id = await context
    .write(async (unit) => {
      const outcome = await requestExecution(unit, {
        ...{ sessionId, turnId, passId, toolCallId: null, timeoutMs: LOOK_MS, silent: true },
        target: change.target,
        command,
        purpose: cutLabel(`Look at ${path} before it is run: ${change.purpose}`, 250),
      });
      if (outcome.kind === 'queued' && outcome.risk === 'read_only') return outcome.executionId;
      // Thrown here, so that nothing of the request stays.
      throw new NomosError(
        'look_would_wait',
        'operator',
        'Reads wait for a decision at the moment.',
      );
    })
    .catch((error: unknown) => {
      if (error instanceof NomosError && error.code === 'look_would_wait') return undefined;
      throw error;
    });
  if (id === undefined) return 'reads wait at the moment';
  await faultPoint('agent.preview_requested');
  const { execution } = await awaitExecution(context, id, { timeoutMs: 2 * LOOK_MS, signal });
  if (!isFinal(execution.status)) {
    await context.write((unit) => requestCancel(unit, { executionId: id, by: 'system' }));
    if (signal.aborted) throw new LookInterrupted(path);
    return 'it could not be read in time';
  }
  const told = /^ *(\d+)\n([0-9a-f]{64}) +-?\n([^]*)$/.exec(execution.stdout);
  if (told === null) return failed(execution);
  const [, bytes, sha256 = '', text = ''] = told;
  if (Number(bytes) > MAX_SCRIPT_BYTES) return 'it is too long';
  // What is no text is a program: there is nothing to read in it.
  const noText = text.includes(NUL_SIGN) || text.includes('\ufffd');
  return { sha256, text: noText ? null : text };
}

/** Why a look failed; what tests for an ordinary file says nothing when there is none. */
function failed({ status, stdout, stderr }: Execution): string {
  if (status === 'completed' && `${stdout}${stderr}`.trim() === '')
    return 'there is no such file yet';
  return /permission denied/i.test(stderr) ? 'it may not be read' : 'it could not be read';
}
