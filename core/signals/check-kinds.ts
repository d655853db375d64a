import { z } from 'zod';
import { classify } from '../policy/classify.ts';

/** What a check may look at (S1). */
export const CHECK_KINDS = [
  'reachable',
  'disk',
  'load',
  'memory',
  'unit',
  'http',
  'certificate',
  'command',
] as const;
/** One of the kinds above. */
export type CheckKind = (typeof CHECK_KINDS)[number];

/** How bad it is that a check fails. `critical`: what it looks at counts as down, not as degraded. `info` calls nobody. */
export const SEVERITIES = ['info', 'warning', 'critical'] as const;
/** One of the severities above. */
export type Severity = (typeof SEVERITIES)[number];

const percent = z.number().min(1).max(100);
const port = z.int('a port from 1 to 65535').min(1).max(65_535);
const unitName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9@:._-]{0,199}$/, 'the name of a systemd unit, like nginx.service');
const address = z
  .string()
  .regex(/^[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}$/, 'a host name or an IP address');
const webAddress = z.url({
  protocol: /^https?$/,
  error: 'an http or https address, such as http://10.0.0.5:3000/health',
});
const path = z.string().regex(/^\/[^\0]{0,199}$/, 'a path that begins with /');

/**
 * What each kind takes, with what holds if it is left out: figures that fit a small fleet. What is left out and has no default
 * comes from the entity's own facts (`unit`, `url`, `port`); an entity without them has no such check.
 */
const kinds = {
  /** `ssh`: a command is answered; `tcp`: a port takes connections from where Nomos runs. */
  reachable: z.strictObject({
    via: z.enum(['ssh', 'tcp']).default('ssh'),
    address: address.optional(),
    port: port.optional(),
  }),
  /** Percent of a file system in use. Without `paths` the fullest of all real ones counts. */
  disk: z.strictObject({
    warn: percent.default(80),
    fail: percent.default(90),
    paths: z.array(path).min(1).max(20).optional(),
  }),
  /** The load of the last five minutes, for each processor. */
  load: z.strictObject({
    warn: z.number().positive().default(2),
    fail: z.number().positive().default(4),
  }),
  /** Percent of memory that is not available. */
  memory: z.strictObject({ warn: percent.default(90), fail: percent.default(97) }),
  /** A systemd unit that has to be active. */
  unit: z.strictObject({ unit: unitName.optional() }),
  /** Asked from where Nomos runs. A redirect is an answer like any other. */
  http: z.strictObject({
    url: webAddress.optional(),
    status: z
      .union([
        z
          .int()
          .min(100)
          .max(599)
          .transform((one) => [one]),
        z.array(z.int().min(100).max(599)).min(1),
      ])
      .optional(),
    contains: z.string().min(1).max(500).optional(),
    /** `any` takes a certificate that nobody vouches for. */
    certificate: z.enum(['valid', 'any']).default('valid'),
  }),
  /** Days until a TLS certificate ends, as it is shown to who connects. */
  certificate: z.strictObject({
    address: address.optional(),
    port: port.optional(),
    warn: z.number().min(0).default(21),
    fail: z.number().min(0).default(7),
  }),
  /** Exit code 0 is well. With `warn` and `fail` the first line of the output is a number that must stay below them. */
  command: z.strictObject({
    command: z.string().min(1).max(2_000),
    warn: z.number().optional(),
    fail: z.number().optional(),
  }),
} as const satisfies Record<CheckKind, z.ZodObject>;

/** The schemas of all kinds, for the file that declares checks. */
export const KIND_SHAPES = kinds;

const version = z.literal(1);

/** A check's parameters as its row keeps them: with their kind, and a version. */
export const storedParameters = z.discriminatedUnion('kind', [
  kinds.reachable.extend({ kind: z.literal('reachable'), version }),
  kinds.disk.extend({ kind: z.literal('disk'), version }),
  kinds.load.extend({ kind: z.literal('load'), version }),
  kinds.memory.extend({ kind: z.literal('memory'), version }),
  kinds.unit.extend({ kind: z.literal('unit'), version }),
  kinds.http.extend({ kind: z.literal('http'), version }),
  kinds.certificate.extend({ kind: z.literal('certificate'), version }),
  kinds.command.extend({ kind: z.literal('command'), version }),
]);

/** See `storedParameters`. */
export type CheckParameters = z.output<typeof storedParameters>;

/** Whether a kind asks the shell of a machine, over the same SSH as executions; the others ask over the network. */
export function asksShell(parameters: CheckParameters): boolean {
  switch (parameters.kind) {
    case 'http':
    case 'certificate':
      return false;
    case 'reachable':
      return parameters.via === 'ssh';
    default:
      return true;
  }
}

/** What is wrong with limits that contradict each other; undefined if nothing is. */
export function limitsFault(parameters: CheckParameters): string | undefined {
  if (parameters.kind === 'certificate')
    return parameters.fail > parameters.warn
      ? `fail (${parameters.fail} days) must not be more than warn (${parameters.warn})`
      : undefined;
  if (!('warn' in parameters) || !('fail' in parameters)) return undefined;
  const { warn, fail } = parameters;
  if (warn === undefined || fail === undefined || warn <= fail) return undefined;
  return `warn (${warn}) must not be more than fail (${fail})`;
}

/**
 * Why a command cannot be a check: checks run by themselves, so only what provably just reads may be one (P1). Undefined if it
 * can.
 */
export function commandFault(command: string): string | undefined {
  const verdict = classify(command);
  if (verdict.risk === 'read_only') return undefined;
  return `is ${verdict.risk} (${verdict.reasons[0] ?? 'not known to be harmless'}); a check runs by itself, so its command must be read_only`;
}
