import type { Reader } from '../db/database.ts';
import { NomosError } from '../errors.ts';
import { cutLabel } from '../text/label.ts';
import type { RunbookFile, RunbookStep } from './runbook-file.ts';
import { readParameters } from './runbook-parameters.ts';
import { fillShell, fillText, type ParameterValues } from './runbook-template.ts';
import { entitiesNamed } from './queries.ts';

/** A step with its values: as it stands in a plan, and the call that does it, if a call does. */
export interface FilledStep {
  title: string;
  /** Null for a step of words alone that has no detail. */
  detail: string | null;
  call: { tool: string; arguments: Record<string, unknown> } | null;
}

/** A runbook with its values. */
export interface FilledRunbook {
  slug: string;
  title: string;
  values: ParameterValues;
  steps: FilledStep[];
}

const TITLE = 120;

/**
 * A runbook with values for its parameters, as steps of a plan (K10). The commands in it are whole: what an operator approves is
 * what is then run, by the same `run` as everything else. Throws `runbook_parameters` for values that do not fit, an entity that does
 * not exist or is of another type.
 */
export async function fillRunbook(
  db: Reader,
  runbook: RunbookFile,
  given: Readonly<Record<string, unknown>>,
): Promise<FilledRunbook> {
  const values = await withEntities(db, runbook, readParameters(runbook, given));
  const { slug, title } = runbook;
  return { slug, title: fillText(title, values), values, steps: fillSteps(runbook.steps, values) };
}

/** The steps with values that are known to fit. */
export function fillSteps(steps: readonly RunbookStep[], values: ParameterValues): FilledStep[] {
  return steps.map((step) => fillStep(step, values));
}

function fillStep(step: RunbookStep, values: ParameterValues): FilledStep {
  const title = cutLabel(fillText(step.title, values), TITLE);
  const call = callOf(step, title, values);
  const words = [
    callWords(call),
    step.detail === undefined ? undefined : fillText(step.detail, values),
  ].filter((line) => line !== undefined);
  return { title, detail: words.length === 0 ? null : words.join('\n'), call };
}

function callOf(step: RunbookStep, title: string, values: ParameterValues): FilledStep['call'] {
  if (step.run !== undefined && step.target !== undefined) {
    return {
      tool: 'run',
      arguments: {
        target: fillText(step.target, values),
        command: fillShell(step.run, values),
        purpose: step.purpose === undefined ? title : cutLabel(fillText(step.purpose, values), 300),
        ...(step.preview === undefined ? {} : { preview: fillShell(step.preview, values) }),
        ...(step.risk === undefined ? {} : { declared_risk: step.risk }),
        ...(step.timeout_seconds === undefined ? {} : { timeout: step.timeout_seconds }),
      },
    };
  }
  if (step.tool === undefined) return null;
  const filled = fillDeep(step.arguments ?? {}, values) as Record<string, unknown>;
  return { tool: step.tool, arguments: filled };
}

function callWords(call: FilledStep['call']): string | undefined {
  if (call === null) return undefined;
  const { command, target } = call.arguments;
  return call.tool === 'run'
    ? `On ${String(target)}: ${String(command)}`
    : `${call.tool} ${JSON.stringify(call.arguments)}`;
}

/** A text that is nothing but a placeholder becomes the value itself, number or not. */
function fillDeep(value: unknown, values: ParameterValues): unknown {
  if (typeof value === 'string') {
    const name = /^\{\{\s*([a-z][a-z0-9_]*)\s*\}\}$/.exec(value)?.[1];
    return name === undefined ? fillText(value, values) : values[name];
  }
  if (Array.isArray(value)) return value.map((item) => fillDeep(item, values));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, fillDeep(item, values)]),
  );
}

/** The same values, with every entity by its slug. */
async function withEntities(
  db: Reader,
  { slug, parameters }: RunbookFile,
  values: ParameterValues,
): Promise<ParameterValues> {
  const asked = Object.entries(parameters).flatMap(([name, parameter]) =>
    parameter.type === 'entity' ? [{ name, parameter, value: String(values[name]) }] : [],
  );
  const found = await entitiesNamed(db, [...new Set(asked.map(({ value }) => value))]);
  const faults: string[] = [];
  const slugs: Record<string, string> = {};
  for (const { name, parameter, value } of asked) {
    const fitting = found.filter(({ named }) => named === value);
    const [only] = fitting;
    const types = parameter.entity_types;
    if (only === undefined) faults.push(`${name}: there is no entity "${value}"`);
    else if (fitting.length > 1) {
      faults.push(`${name}: "${value}" can be ${fitting.map((one) => one.slug).join(' or ')}`);
    } else if (types !== undefined && !types.includes(only.slug.slice(0, only.slug.indexOf(':')))) {
      faults.push(`${name}: ${only.slug} is no ${types.join(' or ')}`);
    } else slugs[name] = only.slug;
  }
  if (faults.length > 0) {
    throw new NomosError(
      'runbook_parameters',
      'model',
      `Runbook ${slug} cannot be used like that: ${faults.join('; ')}.`,
      { hint: 'list_entities shows what there is.' },
    );
  }
  return { ...values, ...slugs };
}
