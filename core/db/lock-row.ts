import { Prisma } from './generated/client.ts';
import type { Unit } from './database.ts';
import type { Approval, Execution, Session } from './rows.ts';

/** The tables whose rows are locked by id. */
interface Lockable {
  sessions: Session;
  executions: Execution;
  approvals: Approval;
}

const snake = (field: string): string =>
  field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** All columns of a model under its own names, so that the row is what the client itself would give. */
const columnsOf = (fields: Readonly<Record<string, string>>): Prisma.Sql =>
  Prisma.raw(
    Object.keys(fields)
      .map((field) => `"${snake(field)}" AS "${field}"`)
      .join(', '),
  );

const SELECTS: { readonly [Table in keyof Lockable]: Prisma.Sql } = {
  sessions: Prisma.sql`SELECT ${columnsOf(Prisma.SessionScalarFieldEnum)} FROM sessions`,
  executions: Prisma.sql`SELECT ${columnsOf(Prisma.ExecutionScalarFieldEnum)} FROM executions`,
  approvals: Prisma.sql`SELECT ${columnsOf(Prisma.ApprovalScalarFieldEnum)} FROM approvals`,
};

/** Locks a row for the rest of the transaction and gives it as it is then, in one statement. Undefined when there is none. */
export async function lockRow<Table extends keyof Lockable>(
  unit: Unit,
  table: Table,
  id: string,
): Promise<Lockable[Table] | undefined> {
  const [row] = await unit.db.$queryRaw<Array<Lockable[Table]>>`
    ${SELECTS[table]} WHERE id = ${id}::uuid FOR UPDATE`;
  return row;
}
