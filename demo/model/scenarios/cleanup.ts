import type { Job, Run } from '../job.ts';
import {
  DISKS,
  diskLine,
  fileSystems,
  firstWords,
  folders,
  fullest,
  type FileSystem,
  type Folder,
} from '../outputs.ts';
import { make, type Reply } from '../wire.ts';
import {
  change,
  complete,
  completeNoting,
  fact,
  goal,
  look,
  nameOf,
  plan,
  refusal,
  step,
  WRITE_BACK,
} from '../work.ts';
import type { Scenario } from './scenario.ts';

const OLD = /\bold\b|20\d\d|\bunused\b|\bobsolete\b/;
const NOTHING = 'Nothing, leave it as it is';

/**
 * Frees space: finds the fullest file system and what lies on it, asks which folder where the words leave that open, and
 * deletes it, which takes a typed confirmation.
 */
export const cleanup: Scenario = {
  example: 'the backup disk on nas-1 is nearly full, delete the old backups',
  matches: (job) =>
    job.says(
      /\b(?:delete|remove|clean|tidy|purge|wipe)\b|\bfree (?:up )?(?:some )?(?:disk )?space\b/,
    ),
  next(job) {
    const machines = job.named.length > 0 ? job.named : job.active('host', 'vm');
    const before = look(
      job,
      machines.map(({ slug }) => ({
        target: slug,
        command: DISKS,
        purpose: 'Disk space',
      })),
      {
        also: [
          goal(
            job.named[0] === undefined
              ? 'There is room on the fullest disk'
              : `There is room on ${job.named[0].name}`,
          ),
        ],
      },
    );
    if ('reply' in before) return before.reply;
    const disk = chooseDisk(job, before.got.flatMap(fileSystems));
    if (disk === undefined) {
      return complete(
        'failure',
        'I could not read the disks.',
        ...before.got.map((run) => `- ${nameOf(run.target)}: ${firstWords(run)}`),
      );
    }
    const sized = look(job, [
      {
        target: disk.target,
        command: `du -h -d 1 ${quoted(disk.mount)}`,
        purpose: `What lies on ${disk.mount}`,
      },
    ]);
    if ('reply' in sized) return sized.reply;
    const found = sized.got.flatMap((run) => folders(run, disk.mount));
    if (found.length === 0) {
      return complete(
        'partial',
        `${disk.mount} on ${nameOf(disk.target)} is ${disk.percent} % full, but I found no folder on it that could go.`,
      );
    }
    return chooseFolder(job, disk, found, before.got);
  },
};

function chooseFolder(
  job: Job,
  disk: FileSystem,
  found: readonly Folder[],
  before: readonly Run[],
): Reply {
  const answer = job.answer;
  if (answer !== undefined && !found.some(({ path }) => isMeant(path, answer))) {
    return complete(
      'partial',
      `Then I leave it: nothing was deleted, and ${disk.mount} on ${nameOf(disk.target)} stays ${disk.percent} % full.`,
    );
  }
  const meant =
    found.find(({ path }) => isMeant(path, answer ?? job.words)) ??
    (job.says(OLD) ? found.find(({ path }) => OLD.test(path)) : undefined);
  if (meant === undefined) return ask(disk, found);
  return remove(job, disk, meant, before);
}

function ask(disk: FileSystem, found: readonly Folder[]): Reply {
  return make({
    name: 'ask_operator',
    args: {
      prompt: `Which folder on ${disk.mount} may go?`,
      why: `${disk.mount} on ${nameOf(disk.target)} is ${disk.percent} % full, with ${disk.free} left.`,
      options: [...found.slice(0, 7).map(({ path, size }) => `${path} (${size})`), NOTHING],
      entities: [disk.target],
    },
  });
}

function remove(job: Job, disk: FileSystem, folder: Folder, before: readonly Run[]): Reply {
  const { target } = disk;
  const listed = look(job, [
    { target, command: `ls -la ${quoted(folder.path)}`, purpose: `What is in ${folder.path}` },
  ]);
  if ('reply' in listed) return listed.reply;
  const readme = /\b(README\S*)$/m.exec(listed.got[0]?.stdout ?? '')?.[1];
  const read =
    readme === undefined
      ? { got: [] }
      : look(job, [
          {
            target,
            command: `cat ${quoted(`${folder.path}/${readme}`)}`,
            purpose: `What ${readme} says`,
          },
        ]);
  if ('reply' in read) return read.reply;
  const says = read.got[0]?.stdout.trim().split('\n').join(' ');
  const refused = refusal(
    job,
    `${folder.path} is still there (${folder.size}), and ${disk.mount} is ${disk.percent} % full.`,
  );
  if (refused !== undefined) return refused;
  const done = change(
    job,
    {
      target,
      command: `rm -rf ${quoted(folder.path)}`,
      purpose: `Delete ${folder.path} (${folder.size}) for good`,
    },
    job.calls('propose_plan').length > 0
      ? []
      : [
          plan(
            { title: `Find what fills ${disk.mount}` },
            {
              title: `Delete ${folder.path}, ${folder.size}`,
              ...(says === undefined ? {} : { detail: `${readme}: ${says}`.slice(0, 900) }),
            },
            { title: `Check the room on ${disk.mount}`, detail: WRITE_BACK },
          ),
          {
            name: 'update_plan_step',
            args: { step: 1, status: 'done', note: `${folder.path} holds ${folder.size}` },
          },
        ],
  );
  if ('reply' in done) return done.reply;
  if (done.got.status !== 'completed') {
    return complete('failure', `${folder.path} could not be deleted: ${firstWords(done.got)}.`);
  }
  const after = look(job, [{ target, command: DISKS, purpose: 'Disk space' }], {
    after: done.got.askedAt,
    also: step(job, 2, 'done'),
  });
  if ('reply' in after) return after.reply;
  const closing = step(job, 3, 'done');
  if (closing.length > 0) return make(...closing);
  const now = after.got.flatMap(fileSystems).find(({ mount }) => mount === disk.mount);
  return completeNoting(
    [fact(target, 'last_cleanup', `${folder.path} (${folder.size}) was deleted`)],
    'success',
    `${folder.path} on ${nameOf(target)} is deleted (${folder.size}). ${disk.mount} went from ${disk.percent} % to ${now?.percent ?? '?'} %, with ${now?.free ?? '?'} free.`,
    says === undefined ? undefined : `${readme} in it said: ${says}`,
    ...before.filter((run) => run.target !== target).map(diskLine),
  );
}

/** The disk that the words speak of, else the fullest. */
function chooseDisk(job: Job, all: readonly FileSystem[]): FileSystem | undefined {
  const words = new Set(
    job.words
      .toLowerCase()
      .match(/[a-z0-9]+/g)
      ?.map((word) => word.replace(/s$/, '')) ?? [],
  );
  const spoken = all.filter(({ mount }) =>
    mount.split('/').some((part) => part !== '' && words.has(part.replace(/s$/, ''))),
  );
  return fullest(spoken.length > 0 ? spoken : all);
}

/** Whether words name this folder: by its whole path, or by its own name. */
function isMeant(path: string, words: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  const said: readonly string[] = words.toLowerCase().match(/[a-z0-9][\w.-]*/g) ?? [];
  return words.includes(path) || said.includes(name);
}

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
