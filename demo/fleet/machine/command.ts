import { decodeBytesToUtf8, defineCommand } from 'just-bash';
import type { Command, ExecResult, ResolvedCommandContext } from 'just-bash';
import { setTimeout as delay } from 'node:timers/promises';
import { LIVE_VARIABLE } from './live.ts';
import type { Machine } from './machine.ts';

/** Shows text of a running command at once. */
export type Show = (text: string) => void;

/** What a command of the demo fleet can see and do. */
export interface CommandIo {
  readonly machine: Machine;
  readonly cwd: string;
  readonly environment: ReadonlyMap<string, string>;
  readonly signal: AbortSignal;
  /** The token by which a shell that the command starts inside another machine may show text at once, too. */
  readonly liveToken: string | undefined;
  stdin(): string;
  /** Shows text at once where that is possible, and else keeps it for the end. Returns nothing left to say. */
  show: Show;
  /** Waits, shorter at a faster pace; ends early, without an error, when the command is stopped. */
  pause(ms: number): Promise<void>;
  /** Runs another command of this machine by its words. */
  run(words: readonly string[]): Promise<ExecResult>;
  /** What the shell's own command of the same name does. */
  original(args: readonly string[]): Promise<ExecResult>;
}

/** What a command says at its end. */
export type Said = string | { stdout?: string; stderr?: string; exitCode?: number } | ExecResult;

/** A command: its words without the name in, what it says out. Text alone means success. */
export type Handler = (args: readonly string[], io: CommandIo) => Said | Promise<Said>;

/** Commands by name. */
export type CommandTable = Readonly<Record<string, Handler>>;

/** Where commands find what to do with text to be shown at once, by token. */
export const liveOutputs = new Map<string, Show>();

/** A failure with a message on standard error. */
export function fail(exitCode: number, stderr: string): Said {
  return { stderr: stderr.endsWith('\n') ? stderr : `${stderr}\n`, exitCode };
}

/** Makes the shell's commands out of a table. */
export function bindCommands(machine: Machine, table: CommandTable): Command[] {
  return Object.entries(table).map(([name, handler]) =>
    defineCommand(name, async (args, context) => {
      const kept: string[] = [];
      const said = await handler(args, commandIo(machine, name, context, kept));
      const result =
        typeof said === 'string'
          ? { stdout: said, stderr: '', exitCode: 0 }
          : { stdout: '', stderr: '', exitCode: 0, ...said };
      return { ...result, stdout: kept.join('') + result.stdout };
    }),
  );
}

function commandIo(
  machine: Machine,
  name: string,
  context: ResolvedCommandContext,
  kept: string[],
): CommandIo {
  const signal = context.signal ?? new AbortController().signal;
  const liveToken = context.env.get(LIVE_VARIABLE);
  const live = liveToken === undefined ? undefined : liveOutputs.get(liveToken);
  return {
    machine,
    cwd: context.cwd,
    environment: context.env,
    signal,
    liveToken: live && liveToken,
    stdin: () => decodeBytesToUtf8(context.stdin),
    show: live ?? ((text) => void kept.push(text)),
    pause: (ms) => pause(ms * machine.pace, signal),
    run: async ([command = '', ...rest]) =>
      (await context.exec?.(command, { cwd: context.cwd, args: rest, signal })) ?? {
        stdout: '',
        stderr: `${name}: cannot start ${command}\n`,
        exitCode: 126,
      },
    original: async (args) =>
      (await context.origCommand?.([...args])) ?? {
        stdout: '',
        stderr: `${name}: not found\n`,
        exitCode: 127,
      },
  };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return;
  try {
    await delay(ms, undefined, { signal, ref: false });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
