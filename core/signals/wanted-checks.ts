import { z } from 'zod';
import type { CheckDefinition } from './check-file.ts';
import { asksShell, storedParameters, type CheckParameters } from './check-kinds.ts';

/** An entity, as far as checks go by it. */
export interface CheckedEntity {
  readonly id: string;
  readonly slug: string;
  readonly type: string;
  readonly state: string;
  /** The first state of its type, in which it is as it should be. */
  readonly usualState: string;
  readonly reach: 'ssh' | 'pct' | 'none';
  readonly attributes: unknown;
  /** The machine that it runs on, for what has no shell of its own. */
  readonly runsOn: string | undefined;
}

/** A check that there should be. */
export interface WantedCheck {
  readonly entityId: string;
  readonly definition: CheckDefinition;
  /** Completed from the entity's own facts. */
  readonly parameters: CheckParameters;
  /** Whose shell is asked; null for what is asked over the network. */
  readonly machine: string | null;
}

const facts = z.looseObject({
  tags: z.array(z.string()).catch([]).default([]),
  unit: z.string().optional().catch(undefined),
  url: z.string().optional().catch(undefined),
  port: z.int().optional().catch(undefined),
  address: z.string().optional().catch(undefined),
  ssh_port: z.int().optional().catch(undefined),
});
type Facts = z.output<typeof facts>;

/**
 * Which checks a fleet has. Only what is in its usual state (active) is looked at: what is stopped, in maintenance or retired is
 * not expected to be well. A check whose kind does not fit an entity, or that needs a fact that it does not have, is not there.
 */
export function wantedChecks(
  definitions: readonly CheckDefinition[],
  entities: readonly CheckedEntity[],
): WantedCheck[] {
  return entities.flatMap((entity) => {
    if (entity.state !== entity.usualState) return [];
    const known = facts.parse(entity.attributes ?? {});
    const byName = new Map<string, CheckDefinition>();
    for (const definition of definitions) {
      if (isAbout(definition, entity, known)) byName.set(definition.name, definition);
    }
    return [...byName.values()].flatMap((definition): WantedCheck[] => {
      if (!definition.enabled) return [];
      const parameters = completed(definition, entity, known);
      if (parameters === undefined) return [];
      const machine = asksShell(parameters) ? machineOf(entity) : null;
      return machine === undefined
        ? []
        : [{ entityId: entity.id, definition, parameters, machine }];
    });
  });
}

/** Whether a definition names the entity, or says nothing and its kind is for such entities. */
function isAbout(
  { match, parameters }: CheckDefinition,
  entity: CheckedEntity,
  { tags }: Facts,
): boolean {
  const { target, type, tag } = match;
  if (target === undefined && type === undefined && tag === undefined)
    return entity.reach !== 'none' || !MACHINES_ONLY.has(parameters.kind);
  return (
    (target === undefined || target.includes(entity.slug)) &&
    (type === undefined || type.includes(entity.type)) &&
    (tag === undefined || tag.some((wanted) => tags.includes(wanted)))
  );
}

/** What is meant for machines unless something else is named. */
const MACHINES_ONLY: ReadonlySet<string> = new Set([
  'reachable',
  'disk',
  'load',
  'memory',
  'command',
]);

function machineOf(entity: CheckedEntity): string | undefined {
  return entity.reach === 'none' ? entity.runsOn : entity.slug;
}

/** The parameters with what the entity's facts say; undefined where something is missing. */
function completed(
  { parameters }: CheckDefinition,
  entity: CheckedEntity,
  known: Facts,
): CheckParameters | undefined {
  const made = withFacts(parameters, entity, known);
  if (made === undefined) return undefined;
  // A fact may be anything: one that does not fit makes no check.
  const checked = storedParameters.safeParse(made);
  return checked.success ? checked.data : undefined;
}

function withFacts(
  parameters: CheckParameters,
  entity: CheckedEntity,
  known: Facts,
): CheckParameters | undefined {
  switch (parameters.kind) {
    case 'unit': {
      const unit = parameters.unit ?? known.unit;
      return unit === undefined ? undefined : { ...parameters, unit };
    }
    case 'http': {
      const url = parameters.url ?? known.url;
      return url === undefined ? undefined : { ...parameters, url };
    }
    case 'certificate': {
      const { host, port } = secureAddress(known.url);
      const address = parameters.address ?? host;
      return address === undefined
        ? undefined
        : { ...parameters, address, port: parameters.port ?? port ?? 443 };
    }
    case 'reachable': {
      if (parameters.via === 'ssh') return parameters;
      const port =
        parameters.port ?? (entity.reach === 'ssh' ? (known.ssh_port ?? 22) : known.port);
      const address = parameters.address ?? known.address;
      return port === undefined || address === undefined
        ? undefined
        : { ...parameters, port, address };
    }
    default:
      return parameters;
  }
}

function secureAddress(url: string | undefined): { host?: string; port?: number } {
  if (url === undefined || !URL.canParse(url)) return {};
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== 'https:') return {};
  return { host: hostname.replace(/^\[|\]$/g, ''), ...(port === '' ? {} : { port: Number(port) }) };
}
