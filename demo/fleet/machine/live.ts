import { parse, serialize } from 'just-bash';
import type { CommandNode, PipelineNode, ScriptNode, StatementNode, WordNode } from 'just-bash';

/** The variable by which a command finds out that what it writes may be shown at once, and to whom. */
export const LIVE_VARIABLE = 'DEMO_FLEET_LIVE';

/** Commands that take a while and have something to show meanwhile. */
const SLOW = new Set(['apt', 'apt-get', 'ping', 'journalctl', 'pct', 'systemctl', 'sleep', 'tail']);
/** Commands that start another one from their words. */
const PREFIXES = new Set(['sudo', 'nice', 'ionice', 'timeout', 'env', 'time']);

/**
 * What would notice the rewriting: redirections of the whole shell, variables that tell about the statement before, and `set -u`,
 * which this shell does not let end a script from within a group.
 */
const LOOKS_BACK = /\bexec\b|PIPESTATUS|LINENO|BASH_COMMAND|\$\{?_\b|\bset\s+-\w*u|nounset/;

interface Outputs {
  readonly stdout: string;
  readonly stderr: string;
  /** The value of `LIVE_VARIABLE`. */
  readonly token: string;
}

/**
 * The shell gives a script's output only at its end. This rewrites a script so that each of its statements writes to
 * the given paths as soon as it is done, and a slow command may write at once. Returns the script as it is when there is
 * nothing slow in it, or when the rewritten text would not mean exactly the same.
 */
export function withLiveOutput(script: string, outputs: Outputs): string {
  if (LOOKS_BACK.test(script)) return script;
  let tree: ScriptNode;
  try {
    tree = parse(script);
    const again = parse(serialize(tree));
    if (shape(again) !== shape(tree)) return script;
  } catch {
    return script; // The shell itself tells what is wrong with it.
  }
  if (!tree.statements.some(hasSlow)) return script;
  if (tree.statements.some((statement) => statement.deferredError)) return script;
  const frame = parse(`{ :; } >>${outputs.stdout} 2>>${outputs.stderr}`);
  const wrapper = frame.statements[0]?.pipelines[0]?.commands[0];
  if (wrapper?.type !== 'Group') return script;
  const mark = parse(`${LIVE_VARIABLE}=${outputs.token} :`).statements[0]?.pipelines[0]
    ?.commands[0];
  if (mark?.type !== 'SimpleCommand') return script;

  for (const statement of tree.statements) {
    if (statement.background) continue;
    statement.pipelines = statement.pipelines.map((pipeline): PipelineNode => {
      const only = pipeline.commands.length === 1 ? pipeline.commands[0] : undefined;
      if (only && isSlow(only)) only.assignments = [...only.assignments, ...mark.assignments];
      const inner: StatementNode = {
        type: 'Statement',
        pipelines: [pipeline],
        operators: [],
        background: false,
      };
      return { type: 'Pipeline', commands: [{ ...wrapper, body: [inner] }], negated: false };
    });
  }
  return serialize(tree);
}

function hasSlow(statement: StatementNode): boolean {
  return statement.pipelines.some((pipeline) => pipeline.commands.some(isSlow));
}

function isSlow(command: CommandNode): command is Extract<CommandNode, { type: 'SimpleCommand' }> {
  if (command.type !== 'SimpleCommand' || !command.redirections.every(joinsErrors)) return false;
  const words = [command.name, ...command.args].map(literal);
  const [name] = words;
  if (name === undefined) return false;
  if (SLOW.has(name)) return true;
  return PREFIXES.has(name) && words.some((word) => word !== undefined && SLOW.has(word));
}

/** `2>&1`: what is written at once is standard output, which that leaves alone. */
function joinsErrors(redirection: { operator: string; fd: number | null }): boolean {
  return redirection.operator === '>&' && redirection.fd === 2;
}

function literal(word: WordNode | null): string | undefined {
  const [part] = word?.parts ?? [];
  return word?.parts.length === 1 && part?.type === 'Literal' ? part.value : undefined;
}

function shape(tree: ScriptNode): string {
  return JSON.stringify(tree, (key, value: unknown) =>
    key === 'line' || key === 'sourceText' ? undefined : value,
  );
}
