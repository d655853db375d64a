import { createHash } from 'node:crypto';
import { z } from 'zod';
import { sql, type Database, type Reader } from '../db/database.ts';
import { faultPoint } from '../faults.ts';
import { errorText, NomosError } from '../errors.ts';
import type { Mask } from '../executions/finish.ts';
import { log } from '../log.ts';
import { headBytes } from '../text/clip.ts';
import { safeText } from '../text/safe.ts';
import type { Severity } from './check-kinds.ts';
import { lastOf, raiseSignal, recovered, wentAwayByItself, type Raised } from './raise.ts';
import type { SignalDetail } from './states.ts';

/** Most alerts of one request; Alertmanager's `max_alerts` keeps below it. */
export const MAX_ALERTS = 500;
/** Most signals of Alertmanager's that are open at the same time: a sender that makes up alerts fills no database. */
const MAX_OPEN = 2_000;

const MAX_LABELS = 40;
const MAX_VALUE_BYTES = 1_024;
const KEPT_VALUE_BYTES = 300;

const labelSet = z
  .record(z.string().min(1).max(200), z.string())
  .refine((labels) => Object.keys(labels).length <= MAX_LABELS, `at most ${MAX_LABELS}`)
  .refine(
    (labels) => Object.values(labels).every((value) => Buffer.byteLength(value) <= MAX_VALUE_BYTES),
    `at most ${MAX_VALUE_BYTES} bytes each`,
  );
const annotationSet = z.record(z.string().min(1).max(200), z.string());
const moment = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

/** One alert. Fields that are not named here are passed by: the format is Alertmanager's, and grows. */
const alertShape = z.looseObject({
  status: z.enum(['firing', 'resolved']),
  labels: labelSet,
  annotations: annotationSet.default({}),
  startsAt: moment,
  fingerprint: z
    .string()
    .regex(/^[0-9a-f]{1,64}$/, 'a fingerprint is up to 64 hexadecimal digits')
    .optional(),
  generatorURL: z.string().optional(),
});

/** The body of Alertmanager's webhook, version 4. Each alert is looked at by itself: one that is broken harms no other (R12). */
export const webhookBody = z.looseObject({
  version: z.literal('4', 'this takes the webhook of version "4"'),
  alerts: z.array(z.unknown()).max(MAX_ALERTS, `at most ${MAX_ALERTS} alerts; set max_alerts`),
});

/** What became of the alerts of a request. */
export interface TakenAlerts {
  raised: number;
  resolved: number;
  /** Told before, or too late to matter. */
  unchanged: number;
  refused: Array<{ index: number; problem: string }>;
}

/**
 * Turns alerts into signals (S3): firing raises, resolved resolves, by fingerprint; the same told again changes nothing. `by` is
 * the token that brought them. Never rejects for what an alert says; rejects when the database is away, and, once the others are
 * taken, when one could not be stored: an end is told once, so the sender has to try again.
 */
export async function takeAlerts(
  { database, mask }: { database: Database; mask: Mask },
  alerts: readonly unknown[],
  by: string,
): Promise<TakenAlerts> {
  const taken: TakenAlerts = { raised: 0, resolved: 0, unchanged: 0, refused: [] };
  const failures: unknown[] = [];
  for (const [index, given] of alerts.entries()) {
    const parsed = alertShape.safeParse(given);
    if (!parsed.success) {
      taken.refused.push({ index, problem: problemOf(parsed.error) });
      continue;
    }
    try {
      const outcome = await takeAlert(database, masked(parsed.data, mask), by);
      if (outcome === 'full')
        taken.refused.push({ index, problem: `there are ${MAX_OPEN} open alerts already` });
      else taken[outcome]++;
    } catch (error) {
      // If the database is away this throws as well, and the sender tries again.
      await database.read.$queryRaw`SELECT 1`;
      log.error({ index, error: errorText(error) }, 'an alert could not be taken in');
      failures.push(error);
    }
  }
  if (failures.length > 0) {
    throw new NomosError(
      'alerts_not_stored',
      'system',
      `${failures.length} of ${alerts.length} alerts could not be stored.`,
      { cause: failures[0] },
    );
  }
  return taken;
}

/** What of an alert is kept. */
interface Alert {
  readonly status: 'firing' | 'resolved';
  readonly fingerprint: string;
  readonly startsAt: Date;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly generatorURL: string | undefined;
}

/** Without the secrets that a text may hold (X9): it is stored, shown, and given to the model. */
function masked(given: z.output<typeof alertShape>, mask: Mask): Alert {
  const { status, startsAt, labels, annotations, generatorURL } = given;
  const each = (texts: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [mask(safeText(name)), mask(safeText(text))]),
    );
  return {
    status,
    startsAt,
    fingerprint: given.fingerprint ?? fingerprintOf(labels),
    labels: each(labels),
    annotations: each(annotations),
    generatorURL: generatorURL === undefined ? undefined : mask(generatorURL),
  };
}

async function takeAlert(
  database: Database,
  alert: Alert,
  by: string,
): Promise<'raised' | 'resolved' | 'unchanged' | 'full'> {
  const key = `alertmanager:${alert.fingerprint}`;
  const startsAt = alert.startsAt;
  const outcome = await database.write(async (unit) => {
    if (alert.status === 'resolved') {
      const did = await recovered(unit, key, { actor: by, why: 'Alertmanager says so', startsAt });
      return did ? 'resolved' : 'unchanged';
    }
    const last = await lastOf(unit, key);
    // A firing that was delivered late, after its own end: it is over.
    if (last !== null && wentAwayByItself(last) && isEarlier(startsAt, last.startsAt))
      return 'unchanged';
    if ((last === null || last.state === 'resolved') && (await openAlerts(unit.db)) >= MAX_OPEN)
      return 'full';
    const raised: Raised = await raiseSignal(unit, {
      key,
      source: 'alertmanager',
      entityId: await entityOf(unit.db, alert.labels),
      checkId: null,
      severity: severityOf(alert.labels),
      title: headBytes(alert.labels['alertname'] ?? 'an alert without a name', 120),
      detail: detailOf(alert),
      startsAt,
      by,
    });
    return raised === 'open' ? 'unchanged' : 'raised';
  });
  await faultPoint('alert.taken');
  return outcome;
}

function isEarlier(startsAt: Date, lastStart: Date | null): boolean {
  return lastStart !== null && startsAt.getTime() <= lastStart.getTime();
}

async function openAlerts(db: Reader): Promise<number> {
  return db.signal.count({ where: { source: 'alertmanager', state: { not: 'resolved' } } });
}

function fingerprintOf(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(pairs)).digest('hex').slice(0, 32);
}

const CRITICAL = new Set(['critical', 'crit', 'error', 'page', 'fatal', 'emergency', 'high']);
const INFORMATION = new Set(['info', 'none', 'notice', 'debug', 'low']);

function severityOf(labels: Readonly<Record<string, string>>): Severity {
  const word = (labels['severity'] ?? labels['priority'] ?? '').toLowerCase();
  if (CRITICAL.has(word)) return 'critical';
  return INFORMATION.has(word) ? 'info' : 'warning';
}

function detailOf({ labels, annotations, generatorURL }: Alert): SignalDetail {
  const text = annotations['summary'] ?? annotations['description'] ?? annotations['message'] ?? '';
  return {
    version: 1,
    text: headBytes(text, 1_000),
    labels: Object.fromEntries(
      Object.entries(labels).map(([name, value]) => [name, headBytes(value, KEPT_VALUE_BYTES)]),
    ),
    ...(generatorURL !== undefined && /^https?:\/\//.test(generatorURL)
      ? { url: headBytes(generatorURL, 500) }
      : {}),
  };
}

/** Labels that may name an entity, the surest first. */
const NAMING = [
  'entity',
  'instance',
  'host',
  'hostname',
  'nodename',
  'node',
  'machine',
  'vm',
  'container',
  'service',
  'domain',
] as const;

/** The entity that the labels name, by its slug, its name or its address; null when it is none, or not one alone. */
async function entityOf(
  db: Reader,
  labels: Readonly<Record<string, string>>,
): Promise<string | null> {
  for (const name of NAMING) {
    const value = labels[name]?.trim().toLowerCase();
    if (value === undefined || value === '') continue;
    // An instance is host:port; a node may have its whole domain.
    const bare = value.replace(/^\[?([^\]]*?)\]?(:\d+)?$/, '$1');
    const names = [...new Set([value, bare, bare.split('.')[0] ?? bare])];
    const found = await db.$queryRaw<Array<{ id: string }>>(sql`
      SELECT id FROM entities
      WHERE gone_from_file_at IS NULL AND source <> 'task'
        AND (slug = ANY(${names}::text[])
          OR slug = ANY(${names.map((one) => `${name}:${one}`)}::text[])
          OR lower(name) = ANY(${names}::text[])
          OR attributes->>'address' = ANY(${[value, bare]}::text[])
          OR attributes->>'lan_address' = ANY(${[value, bare]}::text[]))
      LIMIT 2`);
    if (found.length === 1) return found[0]?.id ?? null;
  }
  return null;
}

function problemOf(error: z.ZodError): string {
  return error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.map(String).join('.') || 'the alert'}: ${message}`)
    .join('; ')
    .slice(0, 500);
}
