import type { Machine } from '../conversation.ts';
import { isOver, type Job, type Run } from '../job.ts';
import { firstWords, upgrades, type Upgrade } from '../outputs.ts';
import { make, say, type Reply } from '../wire.ts';
import {
  change,
  complete,
  completeNoting,
  fact,
  goal,
  look,
  nameOf,
  planToApprove,
  refusal,
  step,
  WRITE_BACK,
  type Command,
} from '../work.ts';
import type { Scenario } from './scenario.ts';

const LIST = 'apt list --upgradable';
const UPGRADE = 'apt-get -y upgrade';

interface Due {
  slug: string;
  packages: Upgrade[];
}

/** Upgrades the packages of several containers (or machines), one after another under one grant. */
export const upgrade: Scenario = {
  example: 'upgrade the packages on all containers',
  matches: (job) => job.says(/\b(?:upgrade|upgrades|update|updates|patch|patches)\b/),
  next(job) {
    const machines = targets(job);
    if (machines.length === 0) {
      const listed = job.calls('list_lxcs').length > 0;
      return listed
        ? say('There is no active container to upgrade.')
        : make({ name: 'list_lxcs', args: {} });
    }
    const looked = look(
      job,
      machines.map((machine) => listCommand(machine.slug)),
      {
        also: [
          goal(`Packages on ${scope(job, machines)} are up to date`),
          { name: 'list_lxcs', args: {} },
        ],
      },
    );
    if ('reply' in looked) return looked.reply;
    const unreadable = looked.got.filter((run) => run.status !== 'completed');
    const due = looked.got
      .map((run) => ({ slug: run.target, packages: upgrades(run) }))
      .filter(({ packages }) => packages.length > 0);
    if (due.length === 0) {
      return complete(
        unreadable.length > 0 ? 'partial' : 'success',
        `Nothing to upgrade on ${scope(job, machines)}.`,
        ...unreadable.map(unreadLine),
      );
    }
    return carryOut(job, due, unreadable);
  },
};

function carryOut(job: Job, due: readonly Due[], unreadable: readonly Run[]): Reply {
  const refused = refusal(job, stillDue(job, due));
  if (refused !== undefined) return refused;
  if (job.calls('propose_plan').length === 0) return propose(due);
  if (job.planWaits)
    return say(
      'The plan waits for your ✅; then I upgrade one after another, without asking again.',
    );
  const runs: Run[] = [];
  for (const [index, { slug, packages }] of due.entries()) {
    const done = change(job, upgradeCommand(slug, packages), [
      ...closeSteps(job, due, index),
      ...step(job, index + 1, 'running'),
    ]);
    if ('reply' in done) return done.reply;
    runs.push(done.got);
  }
  const last = runs.reduce((latest, run) => Math.max(latest, run.askedAt), 0);
  const checked = look(
    job,
    due.map(({ slug }) => listCommand(slug)),
    { after: last, also: closeSteps(job, due, due.length) },
  );
  if ('reply' in checked) return checked.reply;
  const left = checked.got.map((run) => upgrades(run).length);
  const clean =
    left.every((count) => count === 0) && runs.every((run) => run.status === 'completed');
  const closing = step(job, due.length + 1, clean ? 'done' : 'failed');
  if (closing.length > 0) return make(...closing);
  const lines = due.map(({ slug, packages }, index) =>
    resultLine(slug, packages, runs[index], left[index] ?? 0),
  );
  return completeNoting(
    due.map(({ slug }, index) => fact(slug, 'upgrades_left', String(left[index] ?? 0))),
    clean && unreadable.length === 0 ? 'success' : 'partial',
    clean
      ? `${due.length} upgraded, nothing left to upgrade on them.`
      : 'Not everything could be upgraded.',
    ...lines,
    ...unreadable.map(unreadLine),
  );
}

function propose(due: readonly Due[]): Reply {
  return make(
    planToApprove(
      ...due.map(({ slug, packages }) => ({
        title: `Upgrade ${packages.length} package${packages.length === 1 ? '' : 's'} on ${nameOf(slug)}`,
        detail: packages.map(({ name, from, to }) => `${name} ${from} → ${to}`).join(', '),
      })),
      { title: 'Check that nothing is left to upgrade', detail: WRITE_BACK },
    ),
  );
}

/** Marks the steps before `upTo` whose commands have ended. */
function closeSteps(job: Job, due: readonly Due[], upTo: number): ReturnType<typeof step> {
  return due.slice(0, upTo).flatMap(({ slug, packages }, index) => {
    const run = job.run(slug, upgradeCommand(slug, packages).command);
    return run === undefined || !isOver(run)
      ? []
      : step(job, index + 1, run.status === 'completed' ? 'done' : 'failed');
  });
}

function targets(job: Job): Machine[] {
  const named = job.named;
  if (named.length > 0) return named;
  const hosts = job.says(/\bhosts?\b|\bservers?\b|\bmachines?\b/);
  const all = job.says(/\beverything\b|\bfleet\b|\ball machines\b/);
  return job.active(...(all ? ['host', 'vm', 'lxc'] : hosts ? ['host', 'vm'] : ['lxc']));
}

function scope(job: Job, machines: readonly Machine[]): string {
  if (machines.length <= 3) return machines.map((machine) => machine.name).join(', ');
  const types = new Set(machines.map((machine) => machine.type));
  const kind =
    types.size > 1 || job.named.length > 0 ? 'machines' : types.has('lxc') ? 'containers' : 'hosts';
  return `${machines.length} ${kind}`;
}

function listCommand(slug: string): Command {
  return { target: slug, command: LIST, purpose: 'Packages to upgrade' };
}

function upgradeCommand(slug: string, packages: readonly Upgrade[]): Command {
  const names = packages.slice(0, 3).map((one) => one.name);
  const more = packages.length - names.length;
  return {
    target: slug,
    command: UPGRADE,
    purpose: `Upgrade ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`,
  };
}

function resultLine(
  slug: string,
  packages: readonly Upgrade[],
  run: Run | undefined,
  left: number,
): string {
  const versions = packages.map(({ name, to }) => `${name} ${to}`).join(', ');
  if (run?.status !== 'completed')
    return `- ${nameOf(slug)}: not upgraded, ${run === undefined ? 'not run' : firstWords(run)}`;
  return `- ${nameOf(slug)}: ${versions}${left === 0 ? '' : `; ${left} still to upgrade`}`;
}

function unreadLine(run: Run): string {
  return `- ${nameOf(run.target)}: not known, ${firstWords(run)}`;
}

function stillDue(job: Job, due: readonly Due[]): string {
  const open = due.filter(
    ({ slug, packages }) =>
      job.run(slug, upgradeCommand(slug, packages).command)?.status !== 'completed',
  );
  return `Still to upgrade: ${open.map(({ slug, packages }) => `${nameOf(slug)} (${packages.map((one) => one.name).join(', ')})`).join('; ')}.`;
}
