import { CONFIRMATION, label, meansWords, nameOf, names } from './words.ts';
import { em, rich, strong, type Rich } from './rich.ts';
import type { ApprovalState, BlastLevel, BlastState } from './state.ts';
import { clock, elapsed, type View } from './view.ts';

/** How to decide, for a card that waits. */
export function howToDecide(approval: ApprovalState): Rich {
  const who = approval.needsRole === 'admin' ? ' Only an admin may.' : '';
  if (approval.needsTyped) {
    return rich`Reply to this card: ${strong(CONFIRMATION)}. ❌ or “no, because …” stops it.${who}`;
  }
  return rich`Tap ✅ to run it, ❌ to stop it. Or reply “yes” or “no, because …”.${who}`;
}

/** Until when a decision may come, and who has agreed so far where several must. */
export function openUntil(approval: ApprovalState, view: View): Rich {
  const time = rich`Open until ${clock(approval.expiresAt, view)}`;
  if (approval.needsPeople < 2) return time;
  const agreed = approval.votes.length === 0 ? 'none yet' : names(approval.votes.map(nameOf));
  const more = approval.needsPeople - approval.votes.length;
  const whom = approval.missing.length === 0 ? '' : ` (of ${names(approval.missing.map(nameOf))})`;
  return rich`${time} · needs ${approval.needsPeople} people, so far: ${agreed}; ${more} missing${whom}`;
}

/** Who decided, how and when: `Approved by ann with a tap, 15:04 UTC`. Undefined while it waits. */
export function decision(approval: ApprovalState, view: View, partRan = false): Rich | undefined {
  const run = partRan ? 'Nothing more was run.' : 'Nothing was run.';
  const when = approval.decidedAt === null ? '' : `, ${clock(approval.decidedAt, view)}`;
  const means = meansWords(approval);
  const by = `by ${nameOf(approval.decidedBy)}${means === '' ? '' : ` ${means}`}${when}`;
  switch (approval.status) {
    case 'pending':
      return undefined;
    case 'approved':
      return rich`Approved ${by}`;
    case 'denied':
      return approval.reason === null || approval.reason.trim() === ''
        ? rich`Denied ${by}`
        : rich`Denied ${by}: ${em(label(approval.reason, 200))}`;
    case 'withdrawn':
      return rich`Approval withdrawn ${by}, before it started`;
    case 'expired':
      return rich`Nobody decided within ${elapsed(approval.createdAt, approval.expiresAt, view)}. ${run}`;
    case 'cancelled':
      return rich`No longer asked for. ${run}`;
  }
}

/** What suffers with the target, by distance (P8): `Affects shop and blog; through them app and 2 more; 4 further down.` */
export function affects(blast: BlastState): Rich {
  const [direct, next, ...deeper] = blast;
  if (direct === undefined) return rich`Nothing is known to depend on it.`;
  const further = deeper.reduce((sum, level) => sum + level.count, 0);
  const rest = [
    ...(next === undefined ? [] : [`through them ${someOf(next, 2)}`]),
    ...(further === 0 ? [] : [`${further} further down`]),
  ];
  return rich`Affects ${[someOf(direct, 4), ...rest].join('; ')}.`;
}

function someOf({ names: known, count: all }: BlastLevel, shown: number): string {
  return known.length === 0 ? `${all}` : names(known, shown, all);
}
