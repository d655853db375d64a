import { asId, type SessionId } from '../../core/ids.ts';
import { closeGrants } from '../../core/policy/grants.ts';
import { cardOf } from '../cards/card.ts';
import { answerTo } from '../cards/replies.ts';
import { list, para, rich, strong } from '../cards/rich.ts';
import { clock } from '../cards/view.ts';
import { count, nameOf, slug } from '../cards/words.ts';
import { TASK_ARGUMENT, type Command } from './command.ts';

const MOST = 20;

/** `!grants`: what may run without asking, and until when (A9, A10). */
export const grantsCommand: Command = {
  name: 'grants',
  takes: [TASK_ARGUMENT],
  does: 'Lists the open grants: what may run without asking, and until when.',
  needs: 'viewer',
  async run({ context: { unit, view }, taskIfAny }) {
    const session = await taskIfAny();
    const grants = await unit.db.grant.findMany({
      where: {
        closedAt: null,
        expiresAt: { gt: view.now },
        ...(session === undefined ? {} : { sessionId: session.id }),
      },
      orderBy: { expiresAt: 'asc' },
      take: MOST,
      include: { session: { select: { shortId: true } } },
    });
    if (grants.length === 0) return answerTo(rich`No grant is open: every change asks.`);
    const targets = await unit.db.entity.findMany({
      where: { id: { in: grants.map(({ entityId }) => entityId).filter((id) => id !== null) } },
      select: { id: true, slug: true },
    });
    const slugs = new Map(targets.map((target) => [target.id, target.slug]));
    return cardOf([
      para(strong(rich`${count(grants.length, 'open grant')}`)),
      list(
        grants.map((grant) => {
          const what =
            grant.kind === 'destructive'
              ? rich`🔴 destructive on ${slug(slugs.get(grant.entityId ?? '') ?? 'a target that is gone')}`
              : rich`🟠 config mutation and reversible low`;
          return rich`${what} · task ${slug(grant.session?.shortId ?? '')} · until ${clock(grant.expiresAt, view)} · by ${nameOf(grant.openedBy)}`;
        }),
      ),
      para(rich`!revoke closes a task’s grants.`),
    ]);
  },
};

/** `!revoke`: closes a task's grants; what it does next asks again. */
export const revokeCommand: Command = {
  name: 'revoke',
  takes: [TASK_ARGUMENT],
  does: 'Closes the grants of a task, so that its next change asks again.',
  needs: 'approver',
  async run({ context: { unit, operator }, task }) {
    const session = await task();
    const closed = await closeGrants(unit, {
      sessionId: asId<SessionId>(session.id),
      reason: 'revoked',
      by: operator.userId,
    });
    return answerTo(
      closed === 0
        ? rich`This task has no open grant.`
        : rich`Closed ${count(closed, 'grant')}. The next change asks again.`,
    );
  },
};
