// CSI (colours, cursor), OSC (titles, links) with either terminator, and the short escapes.
// Each alternative reads forward only, so the time is linear in the text.
const ESCAPES =
  /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[ -/]*[0-~]/g;

/**
 * An output as a terminal would leave it standing: escape sequences are gone, `\r\n` is a newline, and of a
 * line that was overwritten after `\r` (progress bars) the last version is kept. Only for showing
 * outputs; never for a command, of which every byte must be seen.
 */
export function terminalText(text: string): string {
  if (!text.includes('\r') && !text.includes('\u001b')) return text;
  const plain = withoutEscapes(text);
  if (!plain.includes('\r')) return plain;
  return plain.split('\n').map(lastVersion).join('\n');
}

// A line that ends in \r\n was not overwritten: its last piece is empty and the one before counts.
function lastVersion(line: string): string {
  if (!line.includes('\r')) return line;
  return line.split('\r').findLast((part) => part !== '') ?? '';
}

/** The text without escape sequences. */
export function withoutEscapes(text: string): string {
  return text.includes('\u001b') ? text.replace(ESCAPES, '') : text;
}
