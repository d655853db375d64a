import type { Job, Run } from '../job.ts';
import { DISKS, diskLine, diskVerdict, firstWords } from '../outputs.ts';
import { make, say, type Reply } from '../wire.ts';
import {
  change,
  complete,
  completeNoting,
  fact,
  goal,
  look,
  nameOf,
  plan,
  recall,
  recalled,
  refusal,
  step,
  WRITE_BACK,
  writeDown,
  type Command,
} from '../work.ts';
import type { Scenario } from './scenario.ts';

const VERB = /\b(?:re-?start|bounce|bring (?:\S+ )?(?:back|up))\b/;
/** The words of a task that was opened for a signal of a service. */
const SIGNAL = /^look into signal \w+ on service:([a-z][\w.-]*)@([a-z][\w.-]*):/;
const NO_SERVICE = new Set([
  'it',
  'the',
  'a',
  'if',
  'on',
  'service',
  'services',
  'again',
  'back',
  'up',
]);

/** Looks at the disks if asked to, and restarts a service: only if it is down, where the operator said so. */
export const restart: Scenario = {
  example: 'check the disks and restart nginx on web-1 if it is down',
  matches: (job) => job.says(VERB) || job.says(SIGNAL),
  next(job) {
    const service = findService(job);
    if ('reply' in service) return service.reply;
    const { unit, target } = service;
    const looked = look(job, [...diskCommands(job), stateCommand(unit, target)], {
      also: [goal(`${unit} runs on ${nameOf(target)}`), ...recall(job, noteTitle(unit, target))],
    });
    if ('reply' in looked) return looked.reply;
    const state = looked.got.at(-1);
    const disks = looked.got.slice(0, -1);
    if (state === undefined) return say('Nothing to look at.');
    const word = state.stdout.split('\n')[0]?.trim() ?? '';
    if (word === '') {
      return complete(
        'failure',
        `I could not see how ${unit} is on ${nameOf(target)}: ${firstWords(state)}.`,
        ...diskReport(disks),
      );
    }
    if (word === 'active' && job.says(/\b(?:if|when|unless)\b/)) {
      return completeNoting(
        [fact(target, `${unit}_state`, 'active')],
        'success',
        `${unit} on ${nameOf(target)} is active: nothing to restart.`,
        ...diskReport(disks),
      );
    }
    return mend(job, { unit, target, word, state, disks });
  },
};

interface Found {
  unit: string;
  target: string;
  word: string;
  state: Run;
  disks: readonly Run[];
}

function mend(job: Job, { unit, target, word, state, disks }: Found): Reply {
  const refused = refusal(job, `${unit} on ${nameOf(target)} is still ${word}.`);
  if (refused !== undefined) return refused;
  const cause = causeOf(state);
  const done = change(
    job,
    {
      target,
      command: `systemctl restart ${unit}`,
      purpose: `Restart ${unit}, which ${word === 'failed' ? 'has' : 'is'} ${word}`,
    },
    job.calls('propose_plan').length > 0
      ? []
      : [
          plan(
            { title: `Look at ${unit}${disks.length > 0 ? ' and the disks' : ''}` },
            {
              title: `Restart ${unit} on ${nameOf(target)}`,
              ...(cause === undefined ? {} : { detail: cause }),
            },
            { title: `Check that ${unit} is active`, detail: WRITE_BACK },
          ),
          {
            name: 'update_plan_step',
            args: { step: 1, status: 'done', note: `${unit} is ${word}` },
          },
        ],
  );
  if ('reply' in done) return done.reply;
  if (done.got.status !== 'completed') {
    return complete(
      'failure',
      `${unit} on ${nameOf(target)} could not be restarted: ${firstWords(done.got)}.`,
      ...diskReport(disks),
    );
  }
  const checked = look(
    job,
    [{ target, command: `systemctl is-active ${unit}`, purpose: `Check that ${unit} is active` }],
    {
      after: done.got.askedAt,
      also: step(job, 2, 'done'),
    },
  );
  if ('reply' in checked) return checked.reply;
  const now = checked.got[0]?.stdout.trim() ?? 'unknown';
  const end = now === 'active' ? 'done' : 'failed';
  const closing = step(job, 3, end, `${unit} is ${now}`);
  if (closing.length > 0) return make(...closing);
  return completeNoting(
    [
      fact(target, `${unit}_state`, `${now} after a restart; it was ${word}`),
      ...(cause === undefined
        ? []
        : writeDown(job, {
            title: noteTitle(unit, target),
            content: `It was ${word}. Its journal said: ${cause}\n\n\`systemctl restart ${unit}\` left it ${now}.`,
            about: [target],
          })),
    ],
    now === 'active' ? 'success' : 'failure',
    now === 'active'
      ? `${unit} on ${nameOf(target)} is active again; it was ${word}.`
      : `${unit} on ${nameOf(target)} is ${now} after the restart.`,
    cause === undefined ? undefined : `Its journal says why: ${cause}`,
    recalled(job),
    ...diskReport(disks),
  );
}

/** What a note about it is called, so that it is found and kept up to date. */
function noteTitle(unit: string, target: string): string {
  return `Why ${unit} on ${nameOf(target)} was down`;
}

/** The service and its machine: as named, else as the graph knows them. */
function findService(job: Job): { unit: string; target: string } | { reply: Reply } {
  const signal = SIGNAL.exec(job.words.toLowerCase());
  const troubled = job.conversation.machines.find(({ name }) => name === signal?.[2]);
  if (signal?.[1] !== undefined && troubled !== undefined)
    return { unit: signal[1], target: troubled.slug };
  const listed = job.calls('list_entities').at(-1);
  const asked = /\b(?:re-?start|bounce)\s+(?:the\s+)?([a-z][\w@.-]*)/.exec(
    job.words.toLowerCase(),
  )?.[1];
  const machine = job.named[0];
  if (asked !== undefined && !NO_SERVICE.has(asked) && machine !== undefined) {
    return { unit: asked, target: machine.slug };
  }
  const earlier = job.runs.find((run) => run.command.startsWith('systemctl is-active '));
  const unit = earlier?.command.split(/[\s;]+/)[2];
  if (earlier !== undefined && unit !== undefined) return { unit, target: earlier.target };
  if (listed === undefined)
    return { reply: make({ name: 'list_entities', args: { type: ['service'] } }) };
  const words = new Set(job.words.toLowerCase().match(/[a-z0-9-]+/g) ?? []);
  const services = Array.isArray(listed.result['entities'])
    ? (listed.result['entities'] as Array<Record<string, unknown>>)
    : [];
  const fitting = services.find(
    (service) =>
      words.has(String(service['name'])) &&
      (machine === undefined || String(service['slug']).endsWith(`@${machine.name}`)),
  );
  const host =
    machine ??
    job.conversation.machines.find((one) => String(fitting?.['slug']).endsWith(`@${one.name}`));
  if (fitting === undefined || host === undefined) {
    return {
      reply: say(
        'I could not tell which service on which machine you mean.',
        `Machines: ${job.conversation.machines.map((one) => one.name).join(', ')}.`,
        'Say for example: restart nginx on web-1.',
      ),
    };
  }
  return { unit: String(fitting['name']), target: host.slug };
}

function stateCommand(unit: string, target: string): Command {
  return {
    target,
    command: `systemctl is-active ${unit}; journalctl -u ${unit} -n 8 --no-pager`,
    purpose: `State and last log lines of ${unit}`,
  };
}

function diskCommands(job: Job): Command[] {
  if (!job.says(/\bdisks?\b|\bspace\b|\bstorage\b/)) return [];
  return job
    .active('host', 'vm')
    .map(({ slug }) => ({ target: slug, command: DISKS, purpose: 'Disk space' }));
}

function diskReport(disks: readonly Run[]): string[] {
  return disks.length === 0 ? [] : [diskVerdict(disks), ...disks.map(diskLine)];
}

/** The line of a journal that tells most. */
function causeOf(run: Run): string | undefined {
  const lines = run.stdout.split('\n').slice(1);
  const line = lines.find((one) => /emerg|fatal|error|not found|denied|failed to/i.test(one));
  return line
    ?.replace(/^.*?\]: /, '')
    .trim()
    .slice(0, 200);
}
