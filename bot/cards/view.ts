import { formatDuration } from '../../core/text/duration.ts';

/** The reader's side of a card: what time it is, and in which time zone times are shown (IANA name). */
export interface View {
  readonly now: Date;
  readonly timeZone: string;
}

/** A time of day with its zone, `15:04 UTC`; on another day than `now` with the date, `28 Nov 15:04 UTC`. */
export function clock(at: Date, view: View): string {
  const day = (date: Date): string => date.toLocaleDateString('en-GB', { timeZone: view.timeZone });
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: view.timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
    ...(day(at) === day(view.now) ? {} : { day: 'numeric', month: 'short' }),
  }).formatToParts(at);
  return parts
    .map((part) => (part.type === 'literal' && part.value.includes(',') ? ' ' : part.value))
    .join('');
}

/** Time from `from` to `to` (now if it is still open), cut to what a person reads: `1 m 12 s`. */
export function elapsed(from: Date, to: Date | null, view: View): string {
  return formatDuration((to ?? view.now).getTime() - from.getTime());
}
