import { z } from 'zod';
import { log } from '../../core/log.ts';

const content = z.record(z.string(), z.unknown());

/** An event of a timeline. What is not named here is kept as it came. */
export const eventShape = z.looseObject({
  event_id: z.string().min(1),
  sender: z.string().min(1),
  type: z.string().min(1),
  content: content.catch({}),
  state_key: z.string().optional(),
  redacts: z.string().optional().catch(undefined),
  unsigned: z.looseObject({ transaction_id: z.string().optional() }).optional().catch(undefined),
});
/** An event of a timeline. */
export type TimelineEvent = z.infer<typeof eventShape>;

/** State as an invitation or a sync's state block gives it: without an id where it is stripped. */
export const stateShape = z.looseObject({
  type: z.string(),
  sender: z.string(),
  state_key: z.string(),
  content: content.catch({}),
});
/** A state event, maybe stripped. */
export type StateEvent = z.infer<typeof stateShape>;

const events = z.looseObject({ events: z.array(z.unknown()).default([]) }).default({ events: [] });

/** A sync response, as far as the bot reads it. */
export const syncShape = z.looseObject({
  next_batch: z.string().min(1),
  to_device: events,
  device_lists: z
    .looseObject({
      changed: z.array(z.string()).default([]),
      left: z.array(z.string()).default([]),
    })
    .default({ changed: [], left: [] }),
  device_one_time_keys_count: z.record(z.string(), z.number()).default({}),
  device_unused_fallback_key_types: z.array(z.string()).optional(),
  rooms: z
    .looseObject({
      join: z
        .record(
          z.string(),
          z.looseObject({
            state: events,
            timeline: z
              .looseObject({
                events: z.array(z.unknown()).default([]),
                limited: z.boolean().default(false),
                prev_batch: z.string().optional(),
              })
              .default({ events: [], limited: false }),
          }),
        )
        .default({}),
      invite: z.record(z.string(), z.looseObject({ invite_state: events })).default({}),
      leave: z.record(z.string(), z.unknown()).default({}),
    })
    .default({ join: {}, invite: {}, leave: {} }),
});
/** A sync response. */
export type SyncResponse = z.infer<typeof syncShape>;

/** A page of a room's history. */
export const messagesShape = z.looseObject({
  chunk: z.array(z.unknown()),
  end: z.string().optional(),
});

/** The well-formed ones of a list. One that is malformed is told and left out; it harms nothing but itself (R12). */
export function readEvents<T>(shape: z.ZodType<T>, list: readonly unknown[], where: string): T[] {
  return list.flatMap((item) => {
    const event = shape.safeParse(item);
    if (event.success) return [event.data];
    log.error({ where, issues: z.prettifyError(event.error) }, 'a malformed event was left out');
    return [];
  });
}

const tagsShape = z.looseObject({ 'org.nomos': z.looseObject({ txn: z.string() }) });

/** The transaction id that one of the bot's own events was sent with; undefined when it carries none. */
export function txnOf(event: TimelineEvent): string | undefined {
  const tags = tagsShape.safeParse(event.content);
  return tags.success ? tags.data['org.nomos'].txn : event.unsigned?.transaction_id;
}
