import type { Machine } from '../conversation.ts';
import type { Job, Run } from '../job.ts';
import { DISKS, diskLine, diskVerdict, firstWords } from '../outputs.ts';
import { say, type Reply } from '../wire.ts';
import { look, nameOf } from '../work.ts';
import type { Scenario } from './scenario.ts';

const ASKS =
  /\b(?:how|status|state|health|healthy|check|show|list|which|what|overview|uptime|load|memory|disks?|space|failed|running|look|ok|okay|alright|fine)\b/;
const ABOUT =
  /\b(?:fleet|hosts?|servers?|machines?|containers?|lxcs?|everything|all|disks?|space|storage|services?|units?|uptime|load|memory)\b/;

/** Answers a question about disks, services or the whole fleet by looking alone. */
export const status: Scenario = {
  example: 'how are the disks?',
  matches: (job) => (job.says(ASKS) && job.says(ABOUT)) || (job.says(ASKS) && job.named.length > 0),
  next: (job) => (job.says(/\bdisks?\b|\bspace\b|\bstorage\b/) ? disks(job) : health(job)),
};

function disks(job: Job): Reply {
  const looked = look(
    job,
    machines(job).map(({ slug }) => ({
      target: slug,
      command: DISKS,
      purpose: 'Disk space',
    })),
  );
  if ('reply' in looked) return looked.reply;
  return say(diskVerdict(looked.got), '', ...looked.got.map(diskLine));
}

function health(job: Job): Reply {
  const looked = look(
    job,
    machines(job).map(({ slug }) => ({
      target: slug,
      command: 'uptime; systemctl --failed --no-legend --no-pager',
      purpose: 'Uptime and failed units',
    })),
    { also: [{ name: 'list_entities', args: { type: ['host', 'vm', 'lxc'] } }] },
  );
  if ('reply' in looked) return looked.reply;
  const troubled = looked.got.filter(
    (run) => run.status !== 'completed' || failedUnits(run).length > 0,
  );
  const stopped = job.conversation.machines.filter((machine) => machine.state !== 'active');
  return say(
    troubled.length === 0
      ? `All ${looked.got.length} machines answer and no unit has failed.`
      : `${troubled.length} of ${looked.got.length} machines need a look: ${troubled.map((run) => nameOf(run.target)).join(', ')}.`,
    '',
    ...looked.got.map(healthLine),
    ...stopped.map((machine) => `- ${machine.name}: ${machine.state}`),
  );
}

function machines(job: Job): Machine[] {
  if (job.named.length > 0) return job.named;
  if (job.says(/\bcontainers?\b|\blxcs?\b/)) return job.active('lxc');
  return job.active('host', 'vm', ...(job.says(/\bfleet\b|\beverything\b|\ball\b/) ? ['lxc'] : []));
}

function failedUnits(run: Run): string[] {
  return run.stdout
    .split('\n')
    .slice(1)
    .flatMap((line) => /([\w@.-]+\.(?:service|timer|mount|socket))\b/.exec(line)?.[1] ?? []);
}

function healthLine(run: Run): string {
  if (run.status !== 'completed') return `- ${nameOf(run.target)}: no answer, ${firstWords(run)}`;
  const up = /up\s+(.+?),\s+\d+ users?/.exec(run.stdout)?.[1];
  const load = /load average: (\S+),/.exec(run.stdout)?.[1];
  const failed = failedUnits(run);
  const facts = [
    up === undefined ? undefined : `up ${up}`,
    load === undefined ? undefined : `load ${load}`,
    failed.length === 0 ? 'no failed unit' : `failed: ${failed.join(', ')} 🔴`,
  ];
  return `- ${nameOf(run.target)}: ${facts.filter((fact) => fact !== undefined).join(', ')}`;
}
