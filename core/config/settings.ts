import { readFileSync } from 'node:fs';
import { ConfigurationError, errorText } from '../errors.ts';
import { OPTIONS, type Option, type OptionName } from './options.ts';

/** The options that are set, as text. An option that is empty counts as not set. */
export type Settings = Partial<Record<OptionName, string>>;

/** Collects everything that is wrong, so that it is told at once and not one by one. */
export class Problems {
  readonly #found: string[] = [];

  /** Adds a problem of an option, with what was given unless that is a secret, and what is allowed. */
  add(name: OptionName, what: string, given?: string): void {
    const option: Option | undefined = OPTIONS.find((candidate) => candidate.name === name);
    const shown =
      given === undefined || option?.secret === true ? '' : ` (given: ${JSON.stringify(given)})`;
    const allowed = option === undefined ? '' : `; allowed: ${option.allowed}`;
    this.#found.push(`${name} ${what}${shown}${allowed}`);
  }

  /** Throws a `ConfigurationError` with all that was added. */
  throwIfAny(): void {
    if (this.#found.length === 0) return;
    throw new ConfigurationError(
      this.#found.length === 1
        ? (this.#found[0] ?? '')
        : `The configuration has ${this.#found.length} faults:\n${this.#found.map((line) => `  - ${line}`).join('\n')}`,
      { hint: 'docs/configuration.md lists every option.', fields: { problems: [...this.#found] } },
    );
  }
}

/**
 * Takes the options out of the environment. `<NAME>_FILE` names a file that holds the value, for secrets; giving both is
 * an error.
 */
export function readSettings(environment: NodeJS.ProcessEnv, problems: Problems): Settings {
  const settings: Settings = {};
  for (const { name } of OPTIONS) {
    const value = environment[name];
    const fileName = environment[`${name}_FILE`];
    if (isSet(value) && isSet(fileName)) {
      problems.add(name, `is set, and so is ${name}_FILE; give one of them`);
    } else if (isSet(fileName)) {
      const read = readSecret(name, fileName, problems);
      if (read !== undefined) settings[name] = read;
    } else if (isSet(value)) {
      settings[name] = value.trim();
    }
  }
  return settings;
}

function readSecret(name: OptionName, fileName: string, problems: Problems): string | undefined {
  try {
    const text = readFileSync(fileName, 'utf8').trim();
    if (text !== '') return text;
    problems.add(name, `is to be read from ${fileName}, which is empty`);
  } catch (error) {
    problems.add(name, `cannot be read from its file: ${errorText(error)}`);
  }
  return undefined;
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== '';
}
