import { readFileSync } from 'node:fs';
import { z } from 'zod';

const manifest = z.object({ version: z.string() });

/** The program's version, from package.json. */
export const VERSION = manifest.parse(
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')),
).version;
