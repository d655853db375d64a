import { z } from 'zod';
import type { Database } from './db/database.ts';
import { newId } from './ids.ts';

const KEY = 'installation';
const shape = z.strictObject({ version: z.literal(1), id: z.string() });

/** This installation's own id, made at its first start: keeps its keys in a shared Redis apart from others'. */
export async function installationId(database: Database): Promise<string> {
  const value = { version: 1, id: newId().slice(-12) };
  await database.read.setting.createMany({ data: { key: KEY, value }, skipDuplicates: true });
  const row = await database.read.setting.findUniqueOrThrow({ where: { key: KEY } });
  return shape.parse(row.value).id;
}
