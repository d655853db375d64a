import { z } from 'zod';

/** A script is read and compared up to this much of it; of a longer one the end is not fixed, so it is not called fixed. */
export const MAX_SCRIPT_BYTES = 16 * 1024 * 1024;

/** The scripts of one command. */
export const scriptFiles = z.array(
  z.strictObject({
    /** As the card shows it. */
    shown: z.string(),
    /** Where it is, absolute or seen from the login's home; null when that could not be told. */
    path: z.string().nullable(),
    /** SHA-256 of what was in it when the command was asked for; null when it could not be fixed. */
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .nullable(),
    /** Why it could not be fixed. */
    why: z.string().nullable(),
  }),
);

const scriptsShape = z.strictObject({ version: z.literal(1), files: scriptFiles });

/** The scripts that a command runs, as they are stored with it and shown on its card (A16). */
export type FixedScripts = z.output<typeof scriptsShape>;

/** A script as it was found on the target right before the command was asked for. */
export interface SeenScript {
  shown: string;
  path: string | null;
  sha256: string | null;
  why: string | null;
  /** The program that runs it; empty when it is run by itself. */
  program: string;
  /** The beginning of its text, secrets hidden; null when it was not read or is no text. */
  text: string | null;
}

/** An execution's scripts, or null. Throws a ZodError for stored JSON of another form. */
export function readScripts(stored: unknown): FixedScripts | null {
  return stored === null ? null : scriptsShape.parse(stored);
}

/** What is stored of the scripts that were seen; undefined when there are none. */
export function storedScripts(seen: readonly SeenScript[] | undefined): FixedScripts | undefined {
  if (seen === undefined || seen.length === 0) return undefined;
  return {
    version: 1,
    files: seen.map(({ shown, path, sha256, why }) => ({ shown, path, sha256, why })),
  };
}

/** What the target compares right before the start: the files whose content is fixed. */
export function fixedFiles(stored: unknown): Array<{ path: string; sha256: string }> {
  return (readScripts(stored)?.files ?? []).flatMap(({ path, sha256 }) =>
    path === null || sha256 === null ? [] : [{ path, sha256 }],
  );
}
