import { byteLength, headBytes } from '../../core/text/clip.ts';
import { visible } from '../../core/text/visible.ts';
import { em, pre, rich, stack, type Rich } from './rich.ts';

/** The longest command that a card shows whole: in bytes as shown, and in lines. More is attached as a file (A16). */
export const COMMAND_BYTES_MAX = 2048;
export const COMMAND_LINES_MAX = 30;

/** What a card says where it cannot show everything that is approved: then a file goes with it. */
export const ATTACHED = 'attached whole as a file';

/** What a waiting card says where the command holds a secret (X9): it is covered by the approval, and not shown. */
export const SECRET_NOT_SHOWN =
  'It contains a secret that is not shown; what is approved is the whole command with it.';

const HEAD_BYTES = 600;
const HEAD_LINES = 10;

/** Whether a card can show this command whole, every hidden character written out. */
export function showsWhole(command: string): boolean {
  return (
    byteLength(visible(command)) <= COMMAND_BYTES_MAX &&
    command.split('\n').length <= COMMAND_LINES_MAX
  );
}

/** A command in a code block: whole, or its beginning with the word that the whole is attached. */
export function commandBlock(command: string): Rich {
  if (showsWhole(command)) return pre(command);
  const head = headBytes(command.split('\n').slice(0, HEAD_LINES).join('\n'), HEAD_BYTES);
  const note = rich`Only the beginning is shown: ${byteLength(command)} bytes in all, ${ATTACHED}.`;
  return stack([pre(`${head}\n…`), { text: note.text, html: `<p>${em(note).html}</p>` }]);
}
