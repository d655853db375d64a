import type { Database } from '../../../core/db/database.ts';
import type { ExecutionStatus } from '../../../core/db/rows.ts';
import { isFinal } from '../../../core/executions/states.ts';

/** How often the agent was told of an end: in notes, and as the result of a call. */
export interface Delivered {
  notes: number;
  calls: number;
}

/** How often the agent was told of each execution's end, by `<session> <short id>`. */
export async function deliveriesOf(database: Database): Promise<Map<string, Delivered>> {
  const heard = new Map<string, Delivered>();
  const add = (sessionId: string, shortId: string, how: keyof Delivered): void => {
    const key = `${sessionId} ${shortId}`;
    const delivered = heard.get(key) ?? { notes: 0, calls: 0 };
    delivered[how]++;
    heard.set(key, delivered);
  };
  const notes = await database.read.message.findMany({
    where: { role: 'note' },
    select: { sessionId: true, text: true },
  });
  for (const { sessionId, text } of notes) {
    for (const shortId of namedInNote(text)) add(sessionId, shortId, 'notes');
  }
  const results = await database.read.toolCall.findMany({
    where: { name: 'run', result: { not: null } },
    select: { sessionId: true, result: true },
  });
  for (const { sessionId, result } of results) {
    for (const { execution_id, status } of inResult(result ?? '')) {
      if (isFinal(status)) add(sessionId, execution_id, 'calls');
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
