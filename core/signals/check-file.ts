import { z } from 'zod';
import type { Ontology } from '../graph/ontology-file.ts';
import { DurationError, parseDuration } from '../text/duration.ts';
import { listed, quote, YamlSource } from '../yaml-source.ts';
import {
  commandFault,
  KIND_SHAPES,
  limitsFault,
  SEVERITIES,
  type CheckParameters,
  type Severity,
} from './check-kinds.ts';

/** Checks come round no more often than this: a slip of the pen must not keep a fleet busy. */
const SHORTEST_EVERY_MS = 10_000;
const LONGEST_EVERY_MS = 7 * 24 * 3_600_000;
const LONGEST_TIMEOUT_MS = 120_000;

const texts = z.union([z.string().transform((one) => [one]), z.array(z.string()).min(1)]);

function duration(least: number, most: number) {
  return z.string('a duration such as 90s, 5m or 1h').transform((text, context) => {
    try {
      const ms = parseDuration(text);
      if (ms >= least && ms <= most) return ms;
      context.addIssue(`from ${least / 1000}s to ${most / 1000}s`);
    } catch (error) {
      if (!(error instanceof DurationError)) throw error;
      context.addIssue(error.message);
    }
    return z.NEVER;
  });
}

const every = duration(SHORTEST_EVERY_MS, LONGEST_EVERY_MS);
const timeout = duration(1_000, LONGEST_TIMEOUT_MS);

const common = {
  name: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9._-]{0,39}$/,
      'lower case letters, digits, ".", "_" and "-", at most 40',
    ),
  /** What it is about: everything that all given fields fit. Without it, everything that the kind fits. */
  match: z
    .strictObject({
      target: texts.optional(),
      type: texts.optional(),
      tag: texts.optional(),
    })
    .default({}),
  every: every.optional(),
  timeout: timeout.optional(),
  /** So often in a row it must fail to raise a signal, and be well to resolve it (S2). */
  raise_after: z.int().min(1).max(20).optional(),
  resolve_after: z.int().min(1).max(20).optional(),
  severity: z.enum(SEVERITIES, `allowed: ${SEVERITIES.join(', ')}`).default('warning'),
  /** `false` takes it away from what it matches. */
  enabled: z.boolean().default(true),
} as const;

const entries = [
  KIND_SHAPES.reachable.extend({ ...common, kind: z.literal('reachable') }),
  KIND_SHAPES.disk.extend({ ...common, kind: z.literal('disk') }),
  KIND_SHAPES.load.extend({ ...common, kind: z.literal('load') }),
  KIND_SHAPES.memory.extend({ ...common, kind: z.literal('memory') }),
  KIND_SHAPES.unit.extend({ ...common, kind: z.literal('unit') }),
  KIND_SHAPES.http.extend({ ...common, kind: z.literal('http') }),
  KIND_SHAPES.certificate.extend({ ...common, kind: z.literal('certificate') }),
  KIND_SHAPES.command.extend({ ...common, kind: z.literal('command') }),
] as const;

const shape = z.strictObject({
  version: z.literal(1, 'this version of Nomos reads version 1'),
  every: every.default(60_000),
  timeout: timeout.default(15_000),
  raise_after: common.raise_after.default(2),
  resolve_after: common.resolve_after.default(2),
  checks: z
    .array(
      z.discriminatedUnion(
        'kind',
        entries,
        `a check has a kind: ${Object.keys(KIND_SHAPES).join(', ')}`,
      ),
    )
    .default([]),
});

/** One entry of the file: a check for everything that it matches. Times in milliseconds. */
export interface CheckDefinition {
  readonly name: string;
  readonly match: {
    readonly target?: readonly string[] | undefined;
    readonly type?: readonly string[] | undefined;
    readonly tag?: readonly string[] | undefined;
  };
  readonly parameters: CheckParameters;
  readonly everyMs: number;
  readonly timeoutMs: number;
  readonly raiseAfter: number;
  readonly resolveAfter: number;
  readonly severity: Severity;
  readonly enabled: boolean;
}

/**
 * Reads the checks from a YAML file (`seeds/checks.yaml` describes the format). Where several of one name are about the same
 * entity, the last counts. Throws `YamlFileError` with every problem: file, line, what was given and what is allowed; a command
 * that is not provably read-only is one.
 */
export function loadChecks(path: string, ontology: Ontology): CheckDefinition[] {
  return checksFrom(YamlSource.read(path), ontology);
}

/** As `loadChecks`, for text; `file` is the name used in messages. */
export function parseChecks(text: string, file: string, ontology: Ontology): CheckDefinition[] {
  return checksFrom(YamlSource.parse(file, text), ontology);
}

function checksFrom(source: YamlSource, ontology: Ontology): CheckDefinition[] {
  const file = source.check(shape);
  const definitions = file.checks.map((given, index): CheckDefinition => {
    const { name, match, every: own, timeout: limit, severity, enabled, ...rest } = given;
    const { raise_after: raiseAfter, resolve_after: resolveAfter, ...parameters } = rest;
    const at = ['checks', index];
    for (const type of match.type ?? []) {
      if (!ontology.entityTypes.has(type)) {
        source.add(
          [...at, 'match', 'type'],
          `unknown entity type ${quote(type)}; known: ${listed(ontology.entityTypes.keys())}`,
        );
      }
    }
    const stored: CheckParameters = { ...parameters, version: 1 };
    const limits = limitsFault(stored);
    if (limits !== undefined) source.add(at, `check ${quote(name)}: ${limits}`);
    if (stored.kind === 'command') {
      const fault = commandFault(stored.command);
      if (fault !== undefined)
        source.add([...at, 'command'], `check ${quote(name)}: ${quote(stored.command)} ${fault}`);
    }
    return {
      name,
      match,
      parameters: stored,
      everyMs: own ?? file.every,
      timeoutMs: limit ?? file.timeout,
      raiseAfter: raiseAfter ?? file.raise_after,
      resolveAfter: resolveAfter ?? file.resolve_after,
      severity,
      enabled,
    };
  });
  source.throwIfWrong();
  return definitions;
}
