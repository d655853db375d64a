import { z } from 'zod';
import type { Reader } from '../../core/db/database.ts';
import type { Signal } from '../../core/db/rows.ts';
import { blastLevels, blastRadius } from '../../core/graph/blast-radius.ts';
import { asId, type EntityId, type RoomId } from '../../core/ids.ts';
import { SEVERITIES } from '../../core/signals/check-kinds.ts';
import { signalDetail, stateOf } from '../../core/signals/states.ts';
import type { SignalState } from '../cards/signal.ts';

const source = z.enum(['check', 'alertmanager']);

/** A signal as its card shows it. `brief`: as a line of a list shows it, without what depends on its entity. */
export async function signalState(
  db: Reader,
  signal: Signal,
  mask: (text: string) => string,
  brief = false,
): Promise<SignalState> {
  const [entity, session] = await Promise.all([
    signal.entityId === null
      ? null
      : db.entity.findUnique({ where: { id: signal.entityId }, select: { slug: true } }),
    signal.sessionId === null
      ? null
      : db.session.findUnique({
          where: { id: signal.sessionId },
          select: { shortId: true, roomId: true },
        }),
  ]);
  const { text, labels, url } = signalDetail.parse(signal.detail);
  return {
    shortId: signal.shortId,
    title: mask(signal.title),
    text: mask(text),
    severity: z.enum(SEVERITIES).parse(signal.severity),
    state: stateOf(signal),
    source: source.parse(signal.source),
    entity: entity?.slug ?? null,
    blast:
      brief || signal.entityId === null || signal.state === 'resolved'
        ? []
        : blastLevels(await blastRadius(db, asId<EntityId>(signal.entityId))),
    labels: Object.fromEntries(
      Object.entries(labels).map(([name, value]) => [mask(name), mask(value)]),
    ),
    url: url ?? null,
    raisedAt: signal.raisedAt,
    reopens: signal.reopens,
    changedBy: signal.changedBy,
    changedAt: signal.changedAt,
    mutedUntil: signal.mutedUntil,
    resolvedAt: signal.resolvedAt,
    task:
      session === null
        ? null
        : {
            shortId: session.shortId,
            roomId: session.roomId === null ? null : asId<RoomId>(session.roomId),
          },
  };
}
