import { lastLines } from '../../core/text/clip.ts';
import { terminalText } from '../../core/text/terminal.ts';
import { OUTPUT_BYTES_MAX, OUTPUT_LINES_MAX, outputBlock } from './output.ts';
import { code, para, rich, strong, type Rich } from './rich.ts';
import type { ExecutionState, PreviewState } from './state.ts';
import { label, slug } from './words.ts';

/** What a batch's card says where it cannot show all of its previews: then a file goes with it. */
export const PREVIEWS_ATTACHED = 'all previews are attached as a file';

/** Most targets that are named over a preview that they have in common. */
const NAMES_MAX = 4;

/** What a dry run said, on the card of the change that it was made for (A19). */
export function previewBlocks(preview: PreviewState | null): Array<Rich | undefined> {
  if (preview === null) return [];
  const output = outputBlock(preview.tail);
  return [
    para(
      rich`${strong('Preview')}: ${commandWords(preview)}`,
      output === undefined ? 'It printed nothing.' : undefined,
    ),
    output,
    preview.longer
      ? para(rich`End of what it printed; all of it is attached as a file.`)
      : undefined,
  ];
}

/** What the dry runs of a batch said (A19, X13): one that is the same on several targets is shown once. */
export function batchPreviews(
  executions: readonly ExecutionState[],
  most: number,
): Array<Rich | undefined> {
  const groups = grouped(executions);
  const shown = groups.slice(0, most);
  const lines = Math.max(3, Math.floor(OUTPUT_LINES_MAX / Math.max(1, shown.length)));
  const bytes = Math.floor(OUTPUT_BYTES_MAX / Math.max(1, shown.length));
  const parts = shown.map(({ preview, targets }) => {
    const text = terminalText(preview.tail).trimEnd();
    const end = lastLines(text, lines, bytes).text;
    const output = outputBlock(end);
    return {
      whole: !preview.longer && end.trim() === text.trim(),
      blocks: [
        para(
          rich`${strong('Preview')} ${where(targets, executions)}: ${commandWords(preview)}`,
          output === undefined ? 'It printed nothing.' : undefined,
        ),
        output,
      ],
    };
  });
  const whole = groups.length === shown.length && parts.every((part) => part.whole);
  return [
    ...parts.flatMap((part) => part.blocks),
    groups.length === 0 || whole
      ? undefined
      : para(
          groups.length > shown.length
            ? rich`${groups.length - shown.length} more say something else; ${PREVIEWS_ATTACHED}.`
            : rich`Ends of what they printed; ${PREVIEWS_ATTACHED}.`,
        ),
  ];
}

interface Group {
  readonly preview: PreviewState;
  readonly targets: string[];
}

/** Previews that say the same, the most common first. */
function grouped(executions: readonly ExecutionState[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { preview, target } of executions) {
    if (preview === null) continue;
    const { command, exitCode, tail, longer } = preview;
    const key = JSON.stringify([command, exitCode, tail, longer ? target : '']);
    const group = groups.get(key) ?? { preview, targets: [] };
    group.targets.push(target);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.targets.length - a.targets.length);
}

function commandWords({ command, exitCode }: PreviewState): Rich {
  return rich`${code(label(command, 200))}${exitCode === 0 ? '' : `, exit code ${exitCode}`}`;
}

function where(targets: readonly string[], executions: readonly ExecutionState[]): Rich {
  if (targets.length === executions.length && targets.length > 1)
    return rich`on all ${targets.length}`;
  const names = targets.slice(0, NAMES_MAX).map(slug);
  const [first, ...others] = names;
  if (first === undefined) return rich``;
  const more = targets.length > names.length ? ` and ${targets.length - names.length} more` : '';
  return rich`on ${others.reduce((all, name) => rich`${all}, ${name}`, rich`${first}`)}${more}`;
}
