import { verifyAudit } from '../../../core/audit/verify.ts';
import type { Database } from '../../../core/db/database.ts';
import type { ExecutionStatus } from '../../../core/db/rows.ts';
import { isFinal, TRANSITIONS } from '../../../core/executions/states.ts';

/** What the record of a world says against itself: the audit log, the conversation, and the failures that were told. */
export async function auditRecord(database: Database): Promise<string[]> {
  return [
    ...(await oneWay(database)),
    ...(await resultsOnce(database)),
    ...(await failuresTold(database)),
    ...(await summariesFit(database)),
    ...(await chain(database)),
  ];
}

/** X8, R6: the moves of each execution, as the audit log has them, are ones that there are, in one line, to one end. */
async function oneWay(database: Database): Promise<string[]> {
  const rows = await database.read.$queryRaw<
    Array<{ short_id: string; status: ExecutionStatus; moves: string[] }>
  >`
    SELECT e.short_id, e.status::text AS status, array_agg(substr(l.action, 11) ORDER BY l.id) AS moves
    FROM executions e JOIN audit_log l ON l.subject = e.id::text AND l.action LIKE 'execution.%'
      AND substr(l.action, 11) IN (SELECT unnest(enum_range(NULL::execution_status))::text)
    GROUP BY e.id`;
  const wrong: string[] = [];
  for (const { short_id, status, moves } of rows) {
    const path = moves as ExecutionStatus[];
    const tell = (what: string): void =>
      void wrong.push(`X8: ${short_id} is ${status}, but ${what}: ${path.join(' > ')}`);
    if (path.at(-1) !== status) tell('its last move says otherwise');
    path.slice(1).forEach((to, index) => {
      const from = path[index];
      // Approved and queued is one move of the decision.
      if (from !== undefined && !TRANSITIONS[from].includes(to)) tell(`${from} > ${to} is no way`);
    });
    if (path.filter(isFinal).length > 1) tell('it ended more than once');
  }
  return wrong;
}

/** L6: each call of an answer has one result in the conversation, and no result stands without its call. */
async function resultsOnce(database: Database): Promise<string[]> {
  const rows = await database.read.$queryRaw<
    Array<{ name: string; call_id: string; results: bigint }>
  >`
    SELECT t.name, t.call_id, count(m.id) AS results
    FROM tool_calls t JOIN passes p ON p.id = t.pass_id AND p.state IN ('done', 'failed')
    LEFT JOIN messages m ON m.pass_id = t.pass_id AND m.tool_call_id = t.call_id AND m.role = 'tool'
    GROUP BY t.id HAVING count(m.id) <> 1`;
  return rows.map(
    ({ name, call_id, results }) => `L6: call ${call_id} of ${name} has ${results} results`,
  );
}

/** J5, C7: a pass that failed was followed by another of its turn, or an error was raised for it. */
async function failuresTold(database: Database): Promise<string[]> {
  const rows = await database.read.$queryRaw<Array<{ id: string; error: string }>>`
    SELECT p.id, coalesce(p.error::text, '') AS error FROM passes p
    WHERE p.state = 'failed'
      AND NOT EXISTS (SELECT FROM passes q WHERE q.turn_id = p.turn_id AND q.seq > p.seq)
      AND NOT EXISTS (SELECT FROM events e WHERE e.type = 'error.raised' AND e.ref_id = p.id::text)`;
  return rows.map(({ id, error }) => `J5: pass ${id} failed, and nobody was told: ${error}`);
}

/** L5: what is summed up is older than what is there word for word, and never cuts an answer from its results. */
async function summariesFit(database: Database): Promise<string[]> {
  const rows = await database.read.$queryRaw<Array<{ session_id: string; seq: bigint }>>`
    SELECT s.session_id, r.seq FROM context_summaries s
    JOIN messages r ON r.session_id = s.session_id AND r.role = 'tool' AND r.seq > s.upto_seq
    WHERE NOT EXISTS (SELECT FROM messages a WHERE a.session_id = s.session_id AND a.role = 'assistant'
      AND a.pass_id = r.pass_id AND a.seq > s.upto_seq AND a.seq < r.seq)`;
  return rows.map(
    ({ session_id, seq }) =>
      `L5: the summary of ${session_id} cuts off the answer of result ${seq}`,
  );
}

/** R15. */
async function chain(database: Database): Promise<string[]> {
  const { broken } = await verifyAudit(database);
  return broken === null ? [] : [`R15: the audit chain is broken at ${broken.id}: ${broken.why}`];
}
