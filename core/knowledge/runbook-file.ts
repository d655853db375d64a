import { readdirSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { z } from 'zod';
import { errorText } from '../errors.ts';
import { RISKS } from '../policy/risk.ts';
import { listed, quote, YamlFileError, YamlSource } from '../yaml-source.ts';
import { parameterShape, readValue, type Parameter } from './runbook-parameters.ts';
import { faultOfShell, namesIn, type ParameterValues } from './runbook-template.ts';

/** The most steps that a runbook has: a plan takes no more. */
export const MAX_STEPS = 40;

/** The tools that a step may call besides `run`. */
export const RUNBOOK_TOOLS = [
  'request_execution',
  'update_entity_attributes',
  'create_relationship',
  'upsert_knowledge',
  'search_knowledge',
  'get_entity_knowledge',
  'get_blast_radius',
  'explain',
  'ask_operator',
] as const;

const words = (most: number) => z.string().trim().min(1, 'it says nothing').max(most);
const name = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,39}$/, 'a name is lower-case letters, digits and _, at most 40');

const step = z.strictObject({
  title: words(120),
  /** What it is for: the operator decides by it. Default the title. */
  purpose: words(300).optional(),
  /** Anything else to know about the step. */
  detail: words(1_000).optional(),
  /** A command, on `target`. */
  run: words(8_000).optional(),
  target: words(200).optional(),
  /** A dry run that only reads, for the card (A19). */
  preview: words(8_000).optional(),
  risk: z.enum(RISKS, `allowed: ${RISKS.join(', ')}`).optional(),
  timeout_seconds: z.int().min(1).max(3600).optional(),
  /** A call of a tool, instead of a command. */
  tool: z.enum(RUNBOOK_TOOLS, `allowed: ${RUNBOOK_TOOLS.join(', ')}`).optional(),
  arguments: z.record(z.string(), z.unknown()).optional(),
});

const shape = z.strictObject({
  version: z.literal(1, 'this version of Nomos reads version 1'),
  title: words(120),
  summary: words(500),
  parameters: z.record(name, parameterShape).default({}),
  steps: z.array(step).min(1, 'at least one step').max(MAX_STEPS),
});

/** One step as written: templates of a command, of a call, or of words alone. */
export type RunbookStep = z.output<typeof step>;

/** A runbook (K10): what can be done, with what it needs to know. */
export interface RunbookFile {
  /** From the file's name. */
  slug: string;
  title: string;
  summary: string;
  parameters: Readonly<Record<string, Parameter>>;
  steps: readonly RunbookStep[];
  /** The YAML as it was read. */
  body: string;
}

/** A slug as a file's name gives it. */
export const RUNBOOK_SLUG = /^[a-z0-9](?:[a-z0-9-]{0,58}[a-z0-9])?$/;

/**
 * Reads a runbook from YAML; `file` is the name used in messages. Throws `YamlFileError` with every fault at its line: a field that
 * is not known, a parameter whose default or example does not fit it, a placeholder without a parameter, a command that is no shell
 * source or in which a placeholder stands where a value could become source (Z3).
 */
export function parseRunbook(text: string, file: string, slug: string): RunbookFile {
  const source = YamlSource.parse(file, text);
  const { title, summary, parameters, steps } = source.check(shape);
  for (const [key, parameter] of Object.entries(parameters)) {
    for (const part of ['default', 'example'] as const) {
      const given = parameter[part];
      if (given === undefined) continue;
      const read = readValue(parameter, given);
      if ('fault' in read)
        source.add(['parameters', key, part], `${part} of ${key}: ${read.fault}`);
    }
    if (parameter.default === undefined && parameter.example === undefined) {
      source.add(['parameters', key], `${key} has no default, so it needs an example`);
    }
  }
  steps.forEach((one, index) => checkStep(source, one, index, parameters));
  source.throwIfWrong();
  return { slug, title, summary, parameters, steps, body: text };
}

/** Values by which a runbook can be tried out: its examples, else its defaults. */
export function exampleValues({ parameters }: Pick<RunbookFile, 'parameters'>): ParameterValues {
  return Object.fromEntries(
    Object.entries(parameters).flatMap(([key, parameter]) => {
      const given = parameter.example ?? parameter.default;
      return given === undefined ? [] : [[key, given]];
    }),
  );
}

/**
 * The runbooks of a folder, from its `.yaml` files in order of their names. Throws `YamlFileError` for the first that is wrong, or if
 * the folder cannot be read.
 */
export function loadRunbookFolder(folder: string): RunbookFile[] {
  return runbookFiles(folder).map((file) => loadRunbook(join(folder, file)));
}

/** The names of a folder's runbooks, sorted. Throws `YamlFileError` if it cannot be read. */
export function runbookFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((file) => /\.ya?ml$/.test(file))
      .toSorted();
  } catch (error) {
    const message = `cannot be read: ${errorText(error)}`;
    throw new YamlFileError(folder, [{ line: 1, column: 1, message }]);
  }
}

/** One runbook from its file; see `parseRunbook`. */
export function loadRunbook(file: string): RunbookFile {
  const slug = basename(file, extname(file));
  if (!RUNBOOK_SLUG.test(slug)) {
    const message = `the file's name ${quote(slug)} is the runbook's: lower-case letters, digits and -, at most 60`;
    throw new YamlFileError(file, [{ line: 1, column: 1, message }]);
  }
  return parseRunbook(YamlSource.textOf(file), file, slug);
}

function checkStep(
  source: YamlSource,
  one: RunbookStep,
  index: number,
  parameters: Readonly<Record<string, Parameter>>,
): void {
  const at = (...path: PropertyKey[]): PropertyKey[] => ['steps', index, ...path];
  const number = `step ${index + 1}`;
  if (one.run !== undefined && one.tool !== undefined) {
    source.add(at('tool'), `${number} has both run and tool: one of them`);
  }
  for (const key of ['preview', 'risk', 'timeout_seconds', 'target'] as const) {
    if (one[key] !== undefined && one.run === undefined) {
      source.add(at(key), `${number}: ${key} goes with run only`);
    }
  }
  if (one.run !== undefined && one.target === undefined) {
    source.add(at('run'), `${number} needs a target to run on`);
  }
  if (one.arguments !== undefined && one.tool === undefined) {
    source.add(at('arguments'), `${number}: arguments go with tool only`);
  }
  const texts: Array<[PropertyKey[], string]> = [
    ...(['title', 'purpose', 'detail', 'target', 'run', 'preview'] as const).flatMap(
      (key): Array<[PropertyKey[], string]> =>
        one[key] === undefined ? [] : [[at(key), one[key]]],
    ),
    ...textsIn(one.arguments ?? {}).map(([path, text]): [PropertyKey[], string] => [
      at('arguments', ...path),
      text,
    ]),
  ];
  for (const [path, text] of texts) {
    const unknown = namesIn(text).filter((key) => !Object.hasOwn(parameters, key));
    for (const key of unknown) {
      source.add(
        path,
        `there is no parameter ${quote(key)}; there are: ${listed(Object.keys(parameters))}`,
      );
    }
    if (unknown.length > 0) return;
  }
  const free = new Set(
    Object.entries(parameters).flatMap(([key, { type }]) => (type === 'text' ? [key] : [])),
  );
  for (const key of ['run', 'preview'] as const) {
    const fault = one[key] === undefined ? undefined : faultOfShell(one[key], free);
    if (fault !== undefined) source.add(at(key), `${key} of ${number}: ${fault}`);
  }
}

/** Every text in a value, with the way to it. */
function textsIn(value: unknown, path: PropertyKey[] = []): Array<[PropertyKey[], string]> {
  if (typeof value === 'string') return [[path, value]];
  if (Array.isArray(value)) return value.flatMap((item, at) => textsIn(item, [...path, at]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => textsIn(item, [...path, key]));
}
