import { keyLinesFrom, openBlockAt } from './blocks.ts';
import type { Masker } from './masker.ts';
import { MASK, replace, type Range } from './ranges.ts';

/** Masks a text that arrives in pieces. */
export interface MaskStream {
  /** What can be shown so far of this piece and of what was held back before. */
  write(chunk: string): string;
  /** The rest. */
  end(): string;
}

/** Characters that are held back at most: enough for any private key. */
export const LONGEST_HELD = 65_536;
/** Characters before a place that are looked at again to understand what stands after it. */
const CONTEXT = 1024;

/**
 * Masks a stream, such as an output while its command runs (X9). Whole lines are let through; what
 * is held back is the line that is not finished, a private key that is not finished, and as much as
 * a known secret may still reach over. Where a line or a key is longer than 65,536 characters, its
 * beginning is let through, or masked, so that no more than that is ever held.
 */
export function createMaskStream(masker: Masker): MaskStream {
  let context = '';
  let held = '';
  // A secret that is longer than what may be held is masked to the end of its line or block.
  let swallowing: 'line' | 'block' | null = null;

  const take = (length: number, ranges: readonly Range[]): string => {
    const shown = replace(held.slice(0, length), within(ranges, context.length, length));
    context = (context + held.slice(0, length)).slice(-CONTEXT);
    held = held.slice(length);
    return shown;
  };

  const swallow = (): void => {
    if (swallowing === null) return;
    const match = (swallowing === 'line' ? /\s/ : /-----END [A-Z0-9 ]{0,64}-----/).exec(held);
    if (match === null) {
      context = '';
      held = swallowing === 'block' ? held.slice(-128) : '';
    } else {
      held = held.slice(match.index);
      if (swallowing === 'block') {
        context = '';
        held = `\n${held}`;
      }
      swallowing = null;
    }
  };

  return {
    write: (chunk) => {
      held += chunk;
      swallow();
      if (swallowing !== null) return '';
      const safe = safeLength(held, masker.longestKnown);
      if (safe === 0 && held.length <= LONGEST_HELD) return '';
      const ranges = masker.find(context + held);
      if (held.length - safe <= LONGEST_HELD)
        return take(outside(ranges, context.length, safe), ranges);

      const wanted = outside(ranges, context.length, held.length - LONGEST_HELD / 2);
      if (wanted > 0) return take(wanted, ranges);
      const block = openBlockAt(held) >= 0;
      swallowing = block ? 'block' : 'line';
      held = '';
      context = '';
      return MASK;
    },
    end: () => {
      if (swallowing !== null) return '';
      const ranges = masker.find(context + held);
      return take(held.length, ranges);
    },
  };
}

/** How much of the held text nothing that follows can change. */
function safeLength(held: string, longestKnown: number): number {
  let safe = held.lastIndexOf('\n') + 1;
  const open = openBlockAt(held);
  if (open >= 0) safe = Math.min(safe, open);
  safe = Math.min(safe, keyLinesFrom(held.slice(0, safe), LONGEST_HELD));
  if (longestKnown > 0) safe = Math.min(safe, Math.max(0, held.length - longestKnown + 1));
  return safe;
}

/** Moves a cut out of the secret that it would divide, to where that begins. */
function outside(ranges: readonly Range[], offset: number, cut: number): number {
  const divided = ranges.find(({ start, end }) => start < offset + cut && end > offset + cut);
  return divided === undefined ? cut : Math.max(0, divided.start - offset);
}

/** The ranges of the held text that lie before a cut, counted from the held text's beginning. */
function within(ranges: readonly Range[], offset: number, length: number): Range[] {
  return ranges
    .map(({ start, end }) => ({
      start: Math.max(0, start - offset),
      end: Math.min(end - offset, length),
    }))
    .filter(({ start, end }) => end > start);
}
