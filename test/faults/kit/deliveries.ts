import type { Database } from '../../../core/db/database.ts';
import type { ExecutionStatus } from '../../../core/db/rows.ts';
import { isFinal } from '../../../core/executions/states.ts';

/** How often the agent was told of an execution's end, by `<session> <short id>`: in notes, and as results of `run`. */
export async function deliveriesOf(database: Database): Promise<Map<string, number>> {
  const heard = new Map<string, number>();
  const add = (sessionId: string, shortId: string): void => {
    const key = `${sessionId} ${shortId}`;
    heard.set(key, (heard.get(key) ?? 0) + 1);
  };
  const notes = await database.read.message.findMany({
    where: { role: 'note' },
    select: { sessionId: true, text: true },
  });
  for (const { sessionId, text } of notes) {
    for (const shortId of namedInNote(text)) add(sessionId, shortId);
  }
  const results = await database.read.toolCall.findMany({
    where: { name: 'run', result: { not: null } },
    select: { sessionId: true, result: true },
  });
  for (const { sessionId, result } of results) {
    for (const { execution_id, status } of inResult(result ?? '')) {
      if (isFinal(status)) add(sessionId, execution_id);
    }
  }
  return heard;
}

/** The short ids of executions that a note says have ended. */
function namedInNote(text: string): string[] {
  const [head = '', , body] = text.split('\n');
  if (/^Execution (\w+) on /.test(head)) return [/^Execution (\w+) on /.exec(head)?.[1] ?? ''];
  if (/^The commands on /.test(head)) return inResult(body ?? '').map((one) => one.execution_id);
  const list = /^The (?:operator (?:DENIED|WITHDREW)|approval EXPIRED)[^:]*: (.*)$/.exec(head)?.[1];
  return list === undefined ? [] : [...list.matchAll(/(?:^|; )(\w+) on /g)].map((m) => m[1] ?? '');
}

interface Told {
  execution_id: string;
  status: ExecutionStatus;
}

/** The executions in a tool's result: one, or a table of them. */
function inResult(text: string): Told[] {
  const value = JSON.parse(text) as Partial<Told> & { results?: Told[] };
  if (value.results !== undefined)
    return value.results.filter((one) => one.execution_id !== undefined);
  const { execution_id, status } = value;
  return execution_id === undefined || status === undefined ? [] : [{ execution_id, status }];
}
