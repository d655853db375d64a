import { code, para, rich, type Rich } from './rich.ts';
import type { ExecutionState, ScriptState } from './state.ts';
import { label } from './words.ts';

/** Most scripts that a card names. */
const NAMES_MAX = 3;

/** What is known of the scripts that a command runs (A16): a line for each, by its content's hash, or why there is none. */
export function scriptLines(scripts: readonly ScriptState[]): Rich | undefined {
  if (scripts.length === 0) return undefined;
  const more = scripts.length - NAMES_MAX;
  return para(
    ...scripts.slice(0, NAMES_MAX).map(line),
    more > 0 ? rich`… and ${more} more scripts` : undefined,
  );
}

/** The same for several targets: whose content is not fixed is what matters. */
export function batchScripts(executions: readonly ExecutionState[]): Rich | undefined {
  const running = executions.filter(({ scripts }) => scripts.length > 0);
  const [first] = running;
  if (first === undefined) return undefined;
  const open = running.filter(({ scripts }) => scripts.some(({ hash }) => hash === null));
  const forms = new Set(running.map(({ scripts }) => JSON.stringify(scripts)));
  if (forms.size === 1) return scriptLines(first.scripts);
  return para(
    open.length === 0
      ? rich`📌 Its script differs between targets; on each it must be unchanged when this starts.`
      : rich`⚠️ On ${open.length} of ${executions.length} targets the script’s content could not be fixed.`,
  );
}

function line({ name, hash, why }: ScriptState): Rich {
  const file = code(label(name, 80));
  return hash === null
    ? rich`⚠️ ${file}: its content could not be fixed (${label(why ?? 'not known why', 80)})`
    : rich`📌 ${file} must be unchanged when this starts, sha256 ${code(hash)}`;
}
