import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Execution } from '../db/rows.ts';
import { readRegistration } from './registration.ts';
import { readScripts } from './scripts.ts';

/** What a dry run said, as it is stored. */
export const previewShape = z.strictObject({
  version: z.literal(1),
  /** The execution that was the dry run; it has the whole output. */
  executionId: z.string(),
  command: z.string(),
  exitCode: z.int(),
  /** The end of its output, as the card shows it; masked. */
  tail: z.string(),
  /** Whether there is more of it than the tail. */
  longer: z.boolean(),
  /** SHA-256 of both whole outputs: what was shown is what was approved (A16). */
  outputHash: z.string(),
});

/** What a dry run said before the decision (A19), as it is stored with the execution that it was made for. */
export type Preview = z.output<typeof previewShape>;

/** An execution's preview, or null. Throws a ZodError for stored JSON of another form. */
export function readPreview(stored: unknown): Preview | null {
  return stored === null ? null : previewShape.parse(stored);
}

/** Makes the preview of a dry run that has ended by itself, with whatever exit code: `diff` says 1 where files differ. */
export function previewFrom(dryRun: Execution, exitCode: number): Preview {
  const { stdout, stderr } = dryRun;
  return {
    version: 1,
    executionId: dryRun.id,
    command: dryRun.command,
    exitCode,
    tail: dryRun.tail,
    longer: dryRun.tail.trim().length < `${stdout}${stderr}`.trim().length,
    outputHash: createHash('sha256')
      .update(JSON.stringify([stdout, stderr]))
      .digest('hex'),
  };
}

/** What an approval covers of one execution: target, user and command by their hash, and what was shown with them: the preview, what it adds to the graph, and the content of the scripts that it runs. */
export function coveredHash(execution: {
  commandHash: string;
  preview: unknown;
  registers: unknown;
  scripts: unknown;
}): string {
  const preview = readPreview(execution.preview);
  const made = readRegistration(execution.registers);
  const scripts = readScripts(execution.scripts);
  if (preview === null && made === null && scripts === null) return execution.commandHash;
  const files = scripts?.files.map(({ path, sha256 }) => [path, sha256]);
  const bound = [
    execution.commandHash,
    ...(preview === null ? [] : [preview.command, preview.exitCode, preview.outputHash]),
    ...(made === null ? [] : ['registers', made.slug, made.pveId, made.host]),
    ...(files === undefined ? [] : ['scripts', files]),
  ];
  return createHash('sha256').update(JSON.stringify(bound)).digest('hex');
}
