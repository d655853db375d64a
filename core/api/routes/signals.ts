import type { Context } from 'koa';
import { z } from 'zod';
import { NotFoundError } from '../../errors.ts';
import type { AnyId } from '../../ids.ts';
import { MAX_ALERTS, takeAlerts, webhookBody } from '../../signals/alertmanager.ts';
import { SEVERITIES } from '../../signals/check-kinds.ts';
import {
  acknowledgeSignal,
  LONGEST_MUTE_MS,
  muteSignal,
  openTaskForSignal,
  resolveSignal,
  type SignalVerdict,
} from '../../signals/operate.ts';
import { listChecks, listSignals, type SignalListing } from '../../signals/read.ts';
import { SIGNAL_STATES } from '../../signals/states.ts';
import type { Unit } from '../../db/database.ts';
import { act } from '../actor.ts';
import { readBody } from '../body.ts';
import { count, idOut, plainText, rowId } from '../fields.ts';
import { ApiError } from '../problem.ts';
import { changeRoute, lookRoute, rawRoute, type Route } from '../route.ts';
import type { TokenRecord } from '../tokens.ts';

const byId = z.strictObject({ id: rowId<AnyId>('signal') });
const signal = z.object({
  id: idOut,
  shortId: z.string(),
  title: z.string(),
  text: z.string().describe('What it says: data from a check or a sender.'),
  labels: z.record(z.string(), z.string()),
  severity: z.enum(SEVERITIES),
  state: z.enum(SIGNAL_STATES),
  source: z.enum(['check', 'alertmanager']),
  entity: z
    .string()
    .nullable()
    .describe('The slug of what it is about; null when that is not known.'),
  check: z.string().nullable(),
  sessionId: idOut.nullable().describe('The task that was opened for it.'),
  mutedUntil: z.date().nullable(),
  raisedAt: z.date(),
  reopens: z.int().describe('How often it came back.'),
  changedBy: z.string().describe('Who moved it to its state.'),
  changedAt: z.date(),
  resolvedAt: z.date().nullable(),
});
const verdict = z.object({
  result: z
    .enum(['done', 'already'])
    .describe('`already`: it was so, or over, or a task is at work on it; nothing was changed.'),
  signal,
});
const check = z.object({
  id: idOut,
  entity: z.string(),
  name: z.string(),
  kind: z.string(),
  status: z
    .enum(['ok', 'warn', 'fail', 'unknown', 'stale', 'pending'])
    .describe('`stale`: its result is too old to count; `pending`: it was not made yet.'),
  value: z.number().nullable(),
  detail: z.string().nullable(),
  severity: z.enum(SEVERITIES),
  checkedAt: z.date().nullable(),
  changedAt: z.date().nullable().describe('Since when the status is what it is.'),
  everyMs: z.int(),
});

/** Signals and checks (S1, S2), and Alertmanager's webhook (S3). What is done to a signal is the same as its card's taps do. */
export const signalRoutes: readonly Route[] = [
  lookRoute({
    path: '/api/v1/signals',
    tag: 'signals',
    summary: 'Signals, the newest first',
    query: z.strictObject({
      state: z
        .enum([...SIGNAL_STATES, 'open'])
        .optional()
        .describe('`open`: all but resolved.'),
      entity: plainText(200).optional().describe('The slug of an entity.'),
      limit: count({ min: 1, max: 200 }).default(50),
      before: rowId<AnyId>('signal').optional().describe('The `next` of the page before.'),
    }),
    answer: z.object({ signals: z.array(signal), next: idOut.nullable() }),
    async handle({ deps, query: { state, entity, limit, before } }) {
      const found = await listSignals(deps.database.read, {
        slug: entity,
        states:
          state === 'open'
            ? SIGNAL_STATES.filter((one) => one !== 'resolved')
            : state === undefined
              ? undefined
              : [state],
        before,
        limit: limit + 1,
      });
      const page = found.slice(0, limit);
      return {
        signals: page.map(shown),
        next: found.length > limit ? (page.at(-1)?.id ?? null) : null,
      };
    },
  }),
  lookRoute({
    path: '/api/v1/signals/:id',
    tag: 'signals',
    summary: 'One signal',
    params: byId,
    answer: signal,
    problems: ['not_found'],
    async handle({ deps, params: { id } }) {
      const [found] = await listSignals(deps.database.read, { id, limit: 1 });
      if (found === undefined) throw new NotFoundError('signal', id);
      return shown(found);
    },
  }),
  deed('acknowledge', 'Say that somebody looks at it (👀)', (unit, id, by) =>
    acknowledgeSignal(unit, id, by),
  ),
  changeRoute({
    method: 'post',
    path: '/api/v1/signals/:id/mute',
    tag: 'signals',
    summary: 'Call nobody for it for a while (🔕)',
    scope: 'operate',
    role: 'approver',
    params: byId,
    body: z.strictObject({
      minutes: z
        .int()
        .min(1)
        .max(LONGEST_MUTE_MS / 60_000)
        .default(60),
    }),
    answer: verdict,
    problems: ['not_found'],
    async handle({ deps, params: { id }, body: { minutes }, actor }) {
      return act(deps.database, actor, { action: 'signal.mute', subject: id }, async (unit) =>
        told(unit, await muteSignal(unit, id, actor.operator.userId, minutes * 60_000)),
      );
    },
  }),
  deed('resolve', 'Say that it is dealt with (✅)', (unit, id, by) => resolveSignal(unit, id, by)),
  deed('task', 'Open a task for it, once (🤖)', (unit, id, by) =>
    openTaskForSignal(unit, id, by, { kind: 'api' }),
  ),
  lookRoute({
    path: '/api/v1/checks',
    tag: 'signals',
    summary: 'Checks with their newest results, what is bad first',
    query: z.strictObject({
      entity: plainText(200).optional().describe('The slug of an entity.'),
      status: check.shape.status.optional(),
    }),
    answer: z.object({ checks: z.array(check) }),
    async handle({ deps, query: { entity, status } }) {
      const found = await listChecks(deps.database.read, {
        slug: entity,
        statuses: status === undefined ? undefined : [status],
        limit: 2_000,
      });
      return {
        checks: found.map(({ slug, status: now, severity, ...rest }) => ({
          ...rest,
          entity: slug,
          status: check.shape.status.parse(now),
          severity: z.enum(SEVERITIES).parse(severity),
        })),
      };
    },
  }),
  rawRoute({
    method: 'post',
    path: '/api/v1/signals/alertmanager',
    tag: 'signals',
    summary: 'Alertmanager’s webhook, version 4',
    notes: `Firing alerts raise signals and resolved ones resolve them, by fingerprint; the same told again changes nothing. An alert that is broken is refused by itself. At most ${MAX_ALERTS} alerts. Fields that are not known are passed by, for the format is Alertmanager’s.`,
    scopes: ['signals', 'operate'],
    media: 'application/json',
    body: webhookBody,
    answer: z.object({
      raised: z.int(),
      resolved: z.int(),
      unchanged: z.int(),
      refused: z.array(z.object({ index: z.int(), problem: z.string() })),
    }),
    async serve(ctx: Context, { deps }) {
      const { alerts } = await readBody(ctx, webhookBody);
      const token: TokenRecord = ctx.state['token'];
      const taken = await takeAlerts(deps, alerts, `token:${token.name}`);
      if (alerts.length > 0 && taken.refused.length === alerts.length) {
        const { refused } = taken;
        throw new ApiError(
          'request_invalid',
          `No alert could be taken: ${refused[0]?.problem ?? ''}`,
          { fields: { refused: refused.slice(0, 20) } },
        );
      }
      ctx.body = taken;
    },
  }),
];

function deed(
  name: string,
  summary: string,
  work: (unit: Unit, id: AnyId, by: string) => Promise<SignalVerdict>,
): Route {
  return changeRoute({
    method: 'post',
    path: `/api/v1/signals/:id/${name}`,
    tag: 'signals',
    summary,
    scope: 'operate',
    role: 'approver',
    params: byId,
    answer: verdict,
    problems: ['not_found'],
    async handle({ deps, params: { id }, actor }) {
      return act(deps.database, actor, { action: `signal.${name}`, subject: id }, async (unit) =>
        told(unit, await work(unit, id, actor.operator.userId)),
      );
    },
  });
}

async function told(
  unit: Unit,
  { kind, signal: row }: SignalVerdict,
): Promise<z.input<typeof verdict>> {
  const [found] = await listSignals(unit.db, { id: row.id, limit: 1 });
  if (found === undefined) throw new NotFoundError('signal', row.id);
  return { result: kind, signal: shown(found) };
}

function shown({ slug, task: _task, ...row }: SignalListing): z.input<typeof signal> {
  return {
    ...row,
    severity: z.enum(SEVERITIES).parse(row.severity),
    source: z.enum(['check', 'alertmanager']).parse(row.source),
    entity: slug,
  };
}
