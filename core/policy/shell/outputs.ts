/** What is known about what a command prints: the kind of its words, and literal text in it. */
import { isKnown, NO_INPUT } from '../model.ts';
import type { HoleKind, Rule } from '../model.ts';
import { staticOutput } from './literals.ts';
import type { SyntaxNode } from './parse.ts';
import { readWord } from './words.ts';
import type { Lookup } from './words.ts';

/** Looks a program up by its bare name. */
export type Registry = (name: string) => Rule | undefined;

const ANY: HoleKind = { kind: 'any' };

/** What the words are that a command, pipeline or substitution prints. */
export function outputOf(node: SyntaxNode, registry: Registry, lookup: Lookup): HoleKind {
  if (node.type === 'Script') {
    const only = node.commands.length === 1 ? node.commands[0] : undefined;
    return only ? outputOf(only.command, registry, lookup) : ANY;
  }
  if (node.type === 'Pipeline') return pipeOutput(node, registry, lookup);
  if (node.type !== 'Command' || !node.name) return ANY;
  if (node.redirects.some((redirect) => redirect.operator === '>&')) return ANY;
  const words = [node.name, ...node.suffix.filter((item) => item.type === 'Word')];
  const [first, ...rest] = words.flatMap((word) => readWord(word, lookup));
  if (!first || !isKnown(first)) return ANY;
  if (/^(echo|printf)$/.test(first.value) && rest.every(isKnown)) {
    const printed = (staticOutput(node, lookup) ?? '').trim().split(/\s+/);
    return printed.every((word) => /^[\w@.:+][\w@.:+-]*$/.test(word)) ? { kind: 'id' } : ANY;
  }
  return registry(first.value)?.output?.({ name: first.value, args: rest, input: NO_INPUT }) ?? ANY;
}

function pipeOutput(
  node: Extract<SyntaxNode, { type: 'Pipeline' }>,
  registry: Registry,
  lookup: Lookup,
): HoleKind {
  // With `|&` error messages come through as well.
  if (node.operators.includes('|&')) return ANY;
  let kind = ANY;
  for (const command of node.commands) {
    const handsOn =
      kind.kind !== 'any' &&
      (handsLinesOn(command) || (kind.kind === 'id' && selectsFields(command)));
    if (!handsOn) kind = outputOf(command, registry, lookup);
  }
  return kind;
}

const plainWords = (node: SyntaxNode): string[] =>
  node.type === 'Command'
    ? node.suffix.map((item) => (item.type === 'Word' ? item.value : '<'))
    : ['<'];

/** Filters that hand lines of their input on as they are. With a file to read they would hand on that. */
function handsLinesOn(node: SyntaxNode): boolean {
  if (node.type !== 'Command') return false;
  const words = plainWords(node);
  const name = node.name?.value ?? '';
  if (/^(head|tail|sort|uniq|tac|shuf)$/.test(name)) {
    return words.every(
      (word) => /^-[a-zA-Z]*[+\d]*$|^\+?\d+$/.test(word) && !/^-[a-z]*[oS]/.test(word),
    );
  }
  if (name !== 'grep') return false;
  const operands = words.filter((word) => !/^-[vwxiEFoq]+$/.test(word));
  return operands.length === 1 && !/^[-<]/.test(operands[0] as string);
}

/** `awk '{print $1}'` and `cut` pick words out of lines and make none up. */
function selectsFields(node: SyntaxNode): boolean {
  if (node.type !== 'Command') return false;
  const words = plainWords(node);
  if (node.name?.value === 'awk') {
    return words.length === 1 && /^[^"]*\{\s*print\s+\$\d+\s*\}$/.test(words[0] as string);
  }
  return (
    node.name?.value === 'cut' &&
    /^-d(.| .) -f ?[\d,-]+$|^-f ?[\d,-]+( -d(.| .))?$/.test(words.join(' '))
  );
}

/** True when a command prints nothing but text that stands in it. */
export function isFixed(node: SyntaxNode, lookup: Lookup): boolean {
  switch (node.type) {
    case 'Subshell':
    case 'BraceGroup':
      return node.body.commands.every((one) => isFixed(one.command, lookup));
    case 'Command': {
      const words = node.suffix.flatMap((item) =>
        item.type === 'Word' ? readWord(item, lookup) : [],
      );
      return (
        /^(echo|printf|true|:|sleep)$/.test(node.name?.value ?? '') &&
        words.every(isKnown) &&
        node.prefix.length === 0
      );
    }
    default:
      return false;
  }
}

/** Literal texts that a command may put into a pipe. */
export function literalsOf(node: SyntaxNode, lookup: Lookup): string[] {
  const printed = staticOutput(node, lookup);
  const known = printed === undefined ? [] : [printed];
  if (node.type === 'Script') {
    return [...known, ...node.commands.flatMap((one) => literalsOf(one.command, lookup))];
  }
  if (node.type === 'Subshell' || node.type === 'BraceGroup') {
    return [...known, ...node.body.commands.flatMap((one) => literalsOf(one.command, lookup))];
  }
  if (node.type !== 'Command') return known;
  const words = node.suffix.filter((item) => item.type === 'Word');
  const texts = words
    .flatMap((word) => readWord(word, lookup))
    .map((arg) => arg.guess ?? arg.value);
  const joined = texts.filter((text) => !text.startsWith('-')).join(' ');
  const heres = node.redirects.flatMap((redirect) => {
    if (redirect.type === 'HereDoc') return [redirect.body.text];
    return redirect.type === 'HereString' && redirect.target ? [redirect.target.value] : [];
  });
  return [...known, joined, ...texts.filter((text) => /\s/.test(text)), ...heres];
}
