import type { ServerChannel, Session } from 'ssh2';
import { encodeMessage } from '../../../core/executions/remote/frames.ts';
import { READ_STOPPED, parseExec } from '../../../core/executions/remote/protocol.ts';
import type { RemoteAction } from '../../../core/executions/remote/protocol.ts';
import type { FleetHost } from '../fleet.ts';
import type { Shell } from '../machine/shell.ts';
import { missing } from '../proxmox/pct.ts';
import { Executions } from './executions.ts';
import type { Follower } from './executions.ts';
import { changedFile } from './fixed.ts';
import { readCommandLine } from './input.ts';

/** A command that reached a machine of the demo fleet. */
export interface FleetCommand {
  /** The slug of the machine it ran on, such as `host:web-1` or `lxc:dns`. */
  readonly target: string;
  readonly command: string;
  /** `change`: through the wrapper, at most once; `read`: directly; `plain`: typed by somebody with an SSH client. */
  readonly kind: 'change' | 'read' | 'plain';
}

/** How often something is said while nothing else is, so that a lost connection is noticed. */
const KEEPALIVE_MS = 5_000;
/** How long a plain command may take. */
const PLAIN_LIMIT_MS = 3_600_000;

/** Serves the commands of one host and of its containers. */
export class HostSessions {
  readonly #host: FleetHost;
  readonly #executions = new WeakMap<Shell, Executions>();
  readonly #onCommand: (command: FleetCommand) => void;

  constructor(host: FleetHost, onCommand: (command: FleetCommand) => void) {
    this.#host = host;
    this.#onCommand = onCommand;
  }

  /** Answers what a client asks of a session. */
  serve(session: Session): void {
    session.on('pty', (accept) => accept?.());
    session.on('env', (accept) => accept?.());
    session.on('shell', (accept) => {
      const channel = accept();
      channel.stderr.write(
        `${this.#host.machine.name} is a simulated machine of the demo fleet. It runs commands given to ssh, but has no interactive shell.\n`,
      );
      channel.exit(1);
      channel.end();
    });
    session.on('exec', (accept, _reject, { command }) => {
      const channel = accept();
      channel.on('error', () => channel.destroy());
      const stopper = new AbortController();
      session.on('signal', (acceptSignal) => {
        acceptSignal?.();
        stopper.abort();
      });
      void this.#exec(channel, command, stopper).catch((error: unknown) => {
        channel.stderr.write(`demo fleet: ${error instanceof Error ? error.message : 'failed'}\n`);
        leave(channel, 255);
      });
    });
  }

  async #exec(channel: ServerChannel, exec: string, stopper: AbortController): Promise<void> {
    const action = parseExec(exec);
    if (!action) return this.#plain(channel, exec, stopper);
    const target = this.#target(channel, action.pveId);
    if (!target) return;
    if (action.action === 'read') return this.#read(channel, action, target, stopper);
    channel.write(encodeMessage({ type: 'begin', id: action.id }));
    const follower = followerOf(channel);
    const executions = this.#executionsOf(target.shell);
    if (action.action === 'start') {
      const fixed =
        action.fixedBytes > 0 ? await readCommandLine(channel, action.fixedBytes) : { command: '' };
      const given = 'fault' in fixed ? fixed : await readCommandLine(channel, action.commandBytes);
      const changed = 'fault' in fixed ? undefined : await changedFile(target.shell, fixed.command);
      if (changed !== undefined) {
        follower.send(encodeMessage({ type: 'refused', reason: 'changed', text: changed }));
        follower.finish();
        return;
      }
      if ('fault' in given) {
        follower.send(encodeMessage({ type: 'refused', reason: 'command', text: given.fault }));
        follower.finish();
        return;
      }
      this.#onCommand({ target: target.slug, command: given.command, kind: 'change' });
      follower.leaveWith(executions.start(action.id, given.command, action.timeoutMs, follower));
    } else if (action.action === 'attach') {
      follower.leaveWith(executions.attach(action.id, follower));
    } else {
      follower.leaveWith(executions.cancel(action.id, follower));
    }
  }

  async #read(
    channel: ServerChannel,
    action: Extract<RemoteAction, { action: 'start' | 'read' }>,
    target: { shell: Shell; slug: string },
    stopper: AbortController,
  ): Promise<void> {
    channel.write(encodeMessage({ type: 'begin', id: action.id }));
    const given = await readCommandLine(channel, action.commandBytes);
    if ('fault' in given) {
      channel.write(encodeMessage({ type: 'refused', reason: 'command', text: given.fault }));
      leave(channel, 0);
      return;
    }
    channel.write(encodeMessage({ type: 'started', shell: 'bash' }));
    this.#onCommand({ target: target.slug, command: given.command, kind: 'read' });
    if (channel.readableEnded) stopper.abort();
    channel.on('end', () => stopper.abort());
    channel.resume();
    const end = await runOn(channel, target.shell, given.command, action.timeoutMs, stopper);
    leave(channel, end ?? READ_STOPPED);
  }

  async #plain(channel: ServerChannel, command: string, stopper: AbortController): Promise<void> {
    const { shell, slug } = this.#host;
    this.#onCommand({ target: slug, command, kind: 'plain' });
    channel.resume();
    const exitCode = await runOn(channel, shell, command, PLAIN_LIMIT_MS, stopper);
    if (exitCode !== undefined) {
      leave(channel, exitCode);
    } else {
      channel.exit('TERM', false, 'terminated');
      channel.end();
    }
  }

  /** Where an action goes; says what is wrong as `pct exec` would, and gives nothing, if it can go nowhere. */
  #target(
    channel: ServerChannel,
    pveId: number | undefined,
  ): { shell: Shell; slug: string } | undefined {
    const { shell, slug, proxmox } = this.#host;
    if (pveId === undefined) return { shell, slug };
    const container = proxmox?.containers.get(pveId);
    if (container?.machine.up === true)
      return { shell: container.shell, slug: `lxc:${container.machine.name}` };
    const [text, code] = !proxmox
      ? (['bash: pct: command not found', 127] as const)
      : container
        ? ([`container '${pveId}' not running!`, 255] as const)
        : ([missing(proxmox, pveId), 2] as const);
    channel.stderr.write(`${text}\n`);
    leave(channel, code);
    return undefined;
  }

  #executionsOf(shell: Shell): Executions {
    const known = this.#executions.get(shell);
    if (known) return known;
    const made = new Executions(shell);
    this.#executions.set(shell, made);
    return made;
  }
}

/** Runs a command with its output on the channel; undefined when it was stopped. It ends with its channel. */
async function runOn(
  channel: ServerChannel,
  shell: Shell,
  command: string,
  timeoutMs: number,
  stopper: AbortController,
): Promise<number | undefined> {
  const timer = setTimeout(() => stopper.abort(), Math.min(timeoutMs, PLAIN_LIMIT_MS));
  channel.on('close', () => stopper.abort());
  const end = await shell.run({
    command,
    signal: stopper.signal,
    output: (stream, bytes) => {
      if (channel.writable) (stream === 'stdout' ? channel : channel.stderr).write(bytes);
    },
  });
  clearTimeout(timer);
  return end.kind === 'exited' ? end.exitCode : undefined;
}

function followerOf(channel: ServerChannel): Follower & { leaveWith(left: () => void): void } {
  const keepalive = setInterval(
    () => channel.write(encodeMessage({ type: 'keepalive' })),
    KEEPALIVE_MS,
  );
  let left: (() => void) | undefined;
  let done = false;
  channel.on('close', () => {
    done = true;
    clearInterval(keepalive);
    left?.();
  });
  channel.resume();
  return {
    send: (bytes) => {
      if (done || !channel.writable) return;
      keepalive.refresh();
      channel.write(bytes);
    },
    finish: () => {
      clearInterval(keepalive);
      if (!done) leave(channel, 0);
      done = true;
    },
    leaveWith: (how) => {
      if (done) how();
      else left = how;
    },
  };
}

function leave(channel: ServerChannel, exitCode: number): void {
  if (!channel.writable) return;
  channel.exit(exitCode);
  channel.end();
}
