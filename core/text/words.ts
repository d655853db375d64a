/** The text up to its last white space, or whole where the last word is longer than `longest` characters. */
export function withoutLastWord(text: string, longest = Infinity): string {
  const least = Math.max(0, text.length - longest);
  let end = text.length;
  while (end > least && !isSpace(text, end - 1)) end--;
  return end === least && least > 0 ? text : text.slice(0, end);
}

/** The text from its first white space on, or whole where the first word is longer than `longest` characters. */
export function withoutFirstWord(text: string, longest = Infinity): string {
  const most = Math.min(text.length, longest);
  let start = 0;
  while (start < most && !isSpace(text, start)) start++;
  return start === most && most < text.length ? text : text.slice(start);
}

function isSpace(text: string, at: number): boolean {
  return /\s/u.test(text.charAt(at));
}
