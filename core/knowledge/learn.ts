import { createHash } from 'node:crypto';
import type { Unit } from '../db/database.ts';
import type { Execution, Session } from '../db/rows.ts';
import { maskSecrets } from '../executions/masking/masker.ts';
import { newId } from '../ids.ts';
import { cutLabel } from '../text/label.ts';
import { visible } from '../text/visible.ts';
import { toYaml, YamlFileError } from '../yaml-source.ts';
import { parseRunbook, type RunbookFile } from './runbook-file.ts';
import { columns } from './runbooks.ts';

/** How many tasks must have succeeded by the same commands before they are offered as a runbook (K11). */
export const OFFER_AFTER = 3;

/** A sequence has at least two changes; one that is longer than these is no routine, and its card could not show it whole (C15). */
const STEPS = { least: 2, most: 12 };
const MOST_BYTES = 5_000;
/** What takes more room on a card, where it is escaped. */
const ESCAPED = /[&<>"'\n]/g;

type Run = Pick<Execution, 'command' | 'purpose' | 'targetSlug' | 'status' | 'risk'>;

/**
 * Looks at what a task that succeeded has changed, in order. When the same changes made `OFFER_AFTER` tasks succeed, they are offered
 * as a runbook, once: it becomes one only by an operator's word. Nothing here comes from a model but the words of the titles. A task
 * in which a change failed is no example, and neither is one with secrets in its commands. The caller holds the task's lock.
 */
export async function learnFromTask(unit: Unit, session: Session): Promise<void> {
  const runs = await unit.db.execution.findMany({
    where: { sessionId: session.id, risk: { not: 'read_only' }, startedAt: { not: null } },
    orderBy: [{ startedAt: 'asc' }, { id: 'asc' }],
    select: { command: true, purpose: true, targetSlug: true, status: true, risk: true },
  });
  if (!isExample(runs)) return;
  const sequence = hashOf(runs);
  // One at a time: of two that end in the same moment, the later one counts the other too.
  await unit.db
    .$executeRaw`SELECT pg_advisory_xact_lock(hashtext('nomos_sequence'), hashtext(${sequence}))`;
  await unit.db.taskSequence.upsert({
    where: { sessionId: session.id },
    create: { sessionId: session.id, sequence },
    update: { sequence, at: new Date() },
  });
  const [times, known] = await Promise.all([
    unit.db.taskSequence.count({ where: { sequence } }),
    unit.db.runbook.count({ where: { sequence } }),
  ]);
  if (times < OFFER_AFTER || known > 0) return;
  const offered = runbookOf(runs, session, sequence);
  if (offered !== undefined) await offer(unit, session, sequence, offered);
}

async function offer(
  unit: Unit,
  session: Session,
  sequence: string,
  runbook: RunbookFile,
): Promise<void> {
  const id = newId();
  // Another runbook may have the name.
  const { count } = await unit.db.runbook.createMany({
    data: {
      id,
      slug: runbook.slug,
      origin: 'learned',
      status: 'offered',
      sequence,
      sessionId: session.id,
      ...columns(runbook),
    },
    skipDuplicates: true,
  });
  if (count === 0) return;
  unit.emit({ type: 'runbook.changed', sessionId: session.id, refId: id });
  unit.audit({
    actor: 'system',
    action: 'runbook.offered',
    sessionId: session.id,
    subject: runbook.slug,
    data: { sequence },
  });
}

function isExample(runs: readonly Run[]): boolean {
  const bytes = runs.reduce(
    (sum, { command }) =>
      sum + Buffer.byteLength(command) + 5 * (command.match(ESCAPED)?.length ?? 0),
    0,
  );
  return (
    runs.length >= STEPS.least &&
    runs.length <= STEPS.most &&
    bytes <= MOST_BYTES &&
    runs.every(
      ({ command, status }) =>
        status === 'completed' && maskSecrets(command) === command && visible(command) === command,
    )
  );
}

/** Machines are told apart by the order in which they come, and by their type: the same on another one is the same. */
function hashOf(runs: readonly Run[]): string {
  const targets = targetsOf(runs);
  const steps = runs.map(({ targetSlug, command }) => [
    typeOf(targetSlug),
    targets.indexOf(targetSlug),
    command,
  ]);
  return createHash('sha256').update(JSON.stringify(steps)).digest('hex');
}

/** The sequence as a runbook; undefined if it cannot be one: a command holds what would be taken for a placeholder. */
function runbookOf(
  runs: readonly Run[],
  session: Session,
  sequence: string,
): RunbookFile | undefined {
  const targets = targetsOf(runs);
  const nameOf = (slug: string): string =>
    targets.length === 1 ? 'target' : `target_${targets.indexOf(slug) + 1}`;
  const title = words(session.goal ?? session.title ?? runs[0]?.purpose ?? '', 100);
  const slug = `${slugOf(title)}-${sequence.slice(0, 6)}`;
  const text = toYaml({
    version: 1,
    title,
    summary: `Learned: the same ${runs.length} changes made ${OFFER_AFTER} tasks succeed, the last one task ${session.shortId}.`,
    parameters: Object.fromEntries(
      targets.map((target) => [
        nameOf(target),
        {
          type: 'entity',
          entity_types: [typeOf(target)],
          description: 'Where it is done.',
          example: target,
        },
      ]),
    ),
    steps: runs.map(({ purpose, command, targetSlug }) => ({
      title: words(purpose, 120),
      target: `{{${nameOf(targetSlug)}}}`,
      run: command,
    })),
  });
  try {
    return parseRunbook(text, `runbook ${slug}`, slug);
  } catch (error) {
    // What the grammar of runbooks does not take is no routine that could be offered.
    if (error instanceof YamlFileError) return undefined;
    throw error;
  }
}

function targetsOf(runs: readonly Run[]): string[] {
  return [...new Set(runs.map(({ targetSlug }) => targetSlug))];
}

function typeOf(slug: string): string {
  return slug.slice(0, slug.indexOf(':'));
}

/** Words of a model as a title: masked, one line, and no placeholder. */
function words(text: string, most: number): string {
  const line = cutLabel(maskSecrets(text).replaceAll('{{', '{'), most);
  return line === '' ? 'No title' : line;
}

function slugOf(title: string): string {
  const plain = title
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '');
  return plain === '' ? 'learned' : plain;
}
