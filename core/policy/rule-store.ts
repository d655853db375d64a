import { statSync } from 'node:fs';
import { loadOntology, type Ontology } from '../graph/ontology-file.ts';
import { errorText, NomosError } from '../errors.ts';
import { log } from '../log.ts';
import { loadRules, NO_RULES, type Rules } from './rules-file.ts';

/** How often the file is looked at. */
const LOOK_MS = 2_000;

let current: Rules = NO_RULES;

/** The rules in force in this process. */
export function currentRules(): Rules {
  return current;
}

/** Puts rules in force. */
export function setRules(rules: Rules): void {
  current = rules;
}

/** A policy file that is watched. */
export interface RuleWatch {
  stop(): void;
}

/**
 * Reads the rules and puts them in force; throws `YamlFileError` when they are wrong, and nothing starts. Then watches the
 * file: a change is taken over when it is right; when it is wrong the old rules stay in force, and
 * `onFault` is told once per version of the file (P6).
 */
export function watchRules(options: {
  policy: string;
  ontology: string;
  onFault: (error: NomosError) => void;
  /** The file is right: at the start, and whenever it has become so. */
  onRight?: () => void;
}): RuleWatch {
  const ontology: Ontology = loadOntology(options.ontology);
  setRules(loadRules(options.policy, ontology));
  options.onRight?.();
  let seen = versionOf(options.policy);
  const timer = setInterval(() => {
    const version = versionOf(options.policy);
    if (version === seen) return;
    seen = version;
    try {
      setRules(loadRules(options.policy, ontology));
      log.info({ file: options.policy, rules: current.rules.length }, 'policy reloaded');
      options.onRight?.();
    } catch (error) {
      log.error(
        { file: options.policy, error: errorText(error) },
        'policy not reloaded: the old rules stay in force',
      );
      options.onFault(
        new NomosError(
          'policy_invalid',
          'operator',
          `The policy file was changed and is wrong, so the old rules stay in force:\n${errorText(error)}`,
          { hint: 'Mend the file; it is read again as soon as it changes.', cause: error },
        ),
      );
    }
  }, LOOK_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}

/** Changes when the file does: also when it is replaced, or goes away. */
function versionOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? 'gone' : `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
}
