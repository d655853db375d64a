/** A text that was made to fit. */
export interface Clipped {
  /** What is left, with a marker where something was left out. */
  readonly text: string;
  /** Bytes of UTF-8 that were left out; 0 if the text is whole. */
  readonly droppedBytes: number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Length in bytes as UTF-8. A lone surrogate counts as the three bytes of U+FFFD. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/**
 * The longest beginning of `text` that has at most `maxBytes` bytes and splits no code point.
 * Throws a RangeError if `maxBytes` is negative or not a whole number.
 */
export function headBytes(text: string, maxBytes: number): string {
  needBytes(maxBytes);
  // A UTF-16 unit never takes less than one byte, so no more units than bytes can be wanted.
  const bytes = encoder.encode(text.slice(0, maxBytes + 1));
  if (bytes.length <= maxBytes && text.length <= maxBytes) return text;
  let end = Math.min(maxBytes, bytes.length);
  while (end > 0 && isContinuation(bytes[end])) end -= 1;
  return decoder.decode(bytes.subarray(0, end));
}

/**
 * The longest end of `text` that has at most `maxBytes` bytes and splits no code point.
 * Throws a RangeError if `maxBytes` is negative or not a whole number.
 */
export function tailBytes(text: string, maxBytes: number): string {
  needBytes(maxBytes);
  if (maxBytes === 0) return '';
  const bytes = encoder.encode(text.slice(-(maxBytes + 1)));
  if (bytes.length <= maxBytes) return text;
  let start = bytes.length - maxBytes;
  while (start < bytes.length && isContinuation(bytes[start])) start += 1;
  return decoder.decode(bytes.subarray(start));
}

/**
 * Beginning and end of a text, with a line between them that says how many bytes are missing (X4:
 * the model gets 4 KiB of an output). The result, marker included, has at most `maxBytes` bytes.
 * Where not even the marker fits, only the beginning is kept. Throws a RangeError if `maxBytes` is
 * negative or not a whole number.
 */
export function headAndTail(text: string, maxBytes: number): Clipped {
  needBytes(maxBytes);
  const total = byteLength(text);
  if (total <= maxBytes) return { text, droppedBytes: 0 };
  // The marker is longest when everything is dropped; reserving that much keeps the sum right.
  const room = maxBytes - byteLength(markerOf(total));
  if (room < 2) {
    const head = headBytes(text, maxBytes);
    return { text: head, droppedBytes: total - byteLength(head) };
  }
  const head = headBytes(text, Math.ceil(room / 2));
  const tail = tailBytes(text, room - byteLength(head));
  const droppedBytes = total - byteLength(head) - byteLength(tail);
  return { text: head + markerOf(droppedBytes) + tail, droppedBytes };
}

/**
 * The last lines of an output (C11: at most 12 lines and 1 KiB on a card). One newline at the end is not counted as
 * a line. Whole lines are dropped first; if the last line alone is too long, its end is kept behind
 * an ellipsis. `droppedBytes` counts what is missing before the text that is shown. Throws a
 * RangeError if a limit is negative or not a whole number.
 */
export function lastLines(text: string, maxLines: number, maxBytes: number): Clipped {
  needBytes(maxBytes);
  if (!Number.isSafeInteger(maxLines) || maxLines < 0) {
    throw new RangeError(`maxLines must be a whole number of at least 0, not ${maxLines}`);
  }
  const body = text.endsWith('\n') ? text.slice(0, -1) : text;
  if (maxLines === 0 || maxBytes === 0) return { text: '', droppedBytes: byteLength(body) };

  let start = body.length;
  let lineEnd = body.length;
  let bytes = 0;
  let lines = 0;
  while (lines < maxLines && lineEnd >= 0) {
    const lineStart = lineEnd === 0 ? 0 : body.lastIndexOf('\n', lineEnd - 1) + 1;
    // Measured only if it can fit, so that one line of 100 MiB costs nothing.
    if (start - lineStart > maxBytes) break;
    bytes += byteLength(body.slice(lineStart, start));
    if (bytes > maxBytes) break;
    start = lineStart;
    lineEnd = lineStart - 1;
    lines += 1;
  }
  if (lines > 0) {
    const kept = body.slice(start);
    return { text: kept, droppedBytes: byteLength(body) - byteLength(kept) };
  }
  const ellipsis = '…';
  const kept =
    maxBytes > byteLength(ellipsis) ? tailBytes(body, maxBytes - byteLength(ellipsis)) : '';
  return {
    text: kept === '' ? '' : ellipsis + kept,
    droppedBytes: byteLength(body) - byteLength(kept),
  };
}

function markerOf(droppedBytes: number): string {
  return `\n… ${droppedBytes} bytes left out …\n`;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function needBytes(maxBytes: number): void {
  if (!Number.isSafeInteger(maxBytes) || maxBytes < 0) {
    throw new RangeError(`maxBytes must be a whole number of at least 0, not ${maxBytes}`);
  }
}
