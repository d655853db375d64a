import type { Unit } from '../db/database.ts';
import { NomosError } from '../errors.ts';
import {
  gatewayCommand,
  pctCreateCommand,
  staticAddress,
  type NewContainer,
} from '../executions/pct-create.ts';
import {
  chooseId,
  chooseTemplate,
  GUESTS_COMMAND,
  NEXT_ID_COMMAND,
  nextId,
  storagesOf,
  takenIds,
  TEMPLATE_STORAGES_COMMAND,
  templatesCommand,
  templatesOf,
  type ChosenTemplate,
} from '../executions/pct-facts.ts';
import { containersOnTheWay } from '../executions/registration.ts';
import { resolveTarget } from '../graph/targets.ts';
import { lastLines } from '../text/clip.ts';
import { look, type EndedRead } from './look.ts';
import type { Wanted } from './one-execution.ts';
import type { ChangeContext } from './tool.ts';

/** What is to be made, where, and what for. */
export interface ContainerRequest {
  /** A slug or name of the Proxmox host. */
  readonly target: string;
  readonly purpose: string;
  readonly container: NewContainer;
}

/** What the host was found to have, before the change is asked for. */
interface Facts {
  host: string;
  taken: ReadonlySet<number>;
  next: number;
  template: ChosenTemplate;
}

/**
 * Finds out with reads on the host what a new container needs (X11): a template that is there, the numbers that are taken in the
 * whole cluster, and for a static address whether its gateway answers on that bridge. Gives what is to be asked for, made in the
 * transaction that stores it, so that two tasks do not take one number. Nothing is asked for if any of it fails.
 */
export async function containerToCreate(
  context: ChangeContext,
  request: ContainerRequest,
): Promise<(unit: Unit) => Promise<Wanted>> {
  const { container, purpose } = request;
  const host = await proxmoxHost(context, request.target);
  const read = (command: string, what: string): Promise<EndedRead> =>
    look(context, { what: 'Check', target: host, command, purpose: what });
  const [guests, next, template] = await Promise.all([
    read(GUESTS_COMMAND, 'which numbers are taken in the cluster'),
    read(NEXT_ID_COMMAND, 'the next free number'),
    findTemplate(read, host, container.template),
    checkGateway(read, host, container),
  ]);
  const facts: Facts = {
    host,
    template,
    taken: takenIds(guests.stdout) ?? notProxmox(host, guests),
    next: nextId(next.stdout) ?? notProxmox(host, next),
  };
  return async (unit) => wanted(unit, { container, purpose, facts });
}

async function wanted(
  unit: Unit,
  { container, purpose, facts }: { container: NewContainer; purpose: string; facts: Facts },
): Promise<Wanted> {
  // One at a time, until this is stored: what is on its way counts for the next.
  await unit.db.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('nomos.new_container'))`;
  const slug = `lxc:${container.hostname}`;
  const onTheWay = await containersOnTheWay(unit);
  await nameIsFree(unit, slug, onTheWay.find((one) => one.registration.slug === slug)?.shortId);
  const reserved = new Set(onTheWay.map(({ registration }) => registration.pveId));
  const vmid = chooseId(container.vmid, { ...facts, reserved });
  const { template, how } = facts.template;
  const address = staticAddress(container)?.split('/')[0];
  return {
    target: facts.host,
    purpose,
    command: pctCreateCommand(container, { vmid, template }),
    registers: {
      version: 1,
      slug,
      name: container.hostname,
      pveId: vmid,
      host: facts.host,
      ...(address === undefined ? {} : { address }),
    },
    notes: [
      ...(container.vmid === undefined || container.vmid === 0 || container.vmid === vmid
        ? []
        : [`number ${container.vmid} is taken in the cluster: ${vmid} is the next free one`]),
      ...(how === 'instead'
        ? [`no template "${container.template}" is on ${facts.host}: ${template} in its place`]
        : []),
      `when it succeeded it stands in the graph as ${slug}, state provisioning`,
    ],
  };
}

async function nameIsFree(unit: Unit, slug: string, waiting: string | undefined): Promise<void> {
  if (waiting !== undefined) {
    throw new NomosError(
      'already_waiting',
      'model',
      `Execution ${waiting} makes ${slug} already; it has not ended.`,
      { hint: 'Do not ask again. Its end wakes you.' },
    );
  }
  const known = await unit.db.entity.findUnique({ where: { slug }, select: { state: true } });
  if (known === null) return;
  throw new NomosError(
    'container_exists',
    'model',
    `There is an entity ${slug} in the graph already (${known.state}).`,
    { hint: 'Take another hostname, or work with the one that is there.' },
  );
}

async function proxmoxHost(context: ChangeContext, name: string): Promise<string> {
  const { target } = await resolveTarget(context.database.read, name);
  if (target.container === undefined) return target.slug;
  throw new NomosError(
    'not_a_host',
    'model',
    `${target.slug} is a container; a new one is made on a Proxmox host.`,
    { hint: `It runs on ${target.host.slug}.` },
  );
}

type Read = (command: string, what: string) => Promise<EndedRead>;

async function findTemplate(
  read: Read,
  host: string,
  asked: string | undefined,
): Promise<ChosenTemplate> {
  const status = await read(TEMPLATE_STORAGES_COMMAND, 'where templates are kept');
  if (status.exitCode !== 0) notProxmox(host, status);
  const storages = storagesOf(status.stdout);
  const listed =
    storages.length === 0
      ? []
      : templatesOf((await read(templatesCommand(storages), 'which templates there are')).stdout);
  const chosen = chooseTemplate(asked, listed);
  if (chosen !== undefined) return chosen;
  throw new NomosError('no_template', 'target', `${host} has no container template.`, {
    hint: '"pveam available" lists what can be had; "pveam download <storage> <template>" gets one. Then ask again.',
  });
}

// Bound to the bridge: without it the host's own routes could answer for a network that the container will not be in.
async function checkGateway(read: Read, host: string, container: NewContainer): Promise<void> {
  const { bridge, gateway } = container;
  if (gateway === undefined) return;
  const ping = await read(gatewayCommand(bridge, gateway), `does ${gateway} answer on ${bridge}`);
  if (ping.exitCode === 0) return;
  throw new NomosError(
    'gateway_unreachable',
    'model',
    `${gateway} does not answer on ${bridge} of ${host}, so a container there would have no network: ${said(ping)}`,
    {
      hint: 'Do not guess another gateway. Copy bridge and gateway of a neighbour that works: get_lxc_state of a running container of this host shows its net0. Or use DHCP.',
    },
  );
}

function notProxmox(host: string, read: EndedRead): never {
  throw new NomosError(
    'not_proxmox',
    'target',
    `${host} does not answer like a Proxmox host: ${said(read)}`,
    { hint: 'list_entities with type "host" shows which hosts there are.' },
  );
}

const said = (read: EndedRead): string =>
  `exit code ${read.exitCode}, ${lastLines(`${read.stdout}${read.stderr}`.trim(), 3, 300).text || 'no output'}`;
