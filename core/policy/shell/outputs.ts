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
  let leading = 0;
  for (const command of node.commands) {
    const field = selectedField(command);
    if (kind.kind !== 'any' && handsLinesOn(command)) continue;
    if (kind.kind === 'id' && (field !== undefined || cutsFields(command))) continue;
    if (leading > 0 && handsLinesOn(command)) continue;
    if (field !== undefined && field <= leading) {
      kind = { kind: 'id' };
      continue;
    }
    kind = oneWord(command) ?? outputOf(command, registry, lookup);
    leading = leadingIds(command, registry, lookup);
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
  // Letters taken out of a line make no word out of none, unless blanks or slashes come in.
  if (name === 'tr')
    return words.length === 2 && words[0] === '-d' && /^[%,:"']+$/.test(words[1] as string);
  if (name !== 'grep') return false;
  const operands = words.filter((word) => !/^-[vwxiEFoq]+$/.test(word));
  return operands.length === 1 && !/^[-<]/.test(operands[0] as string);
}

/** What `awk` prints of each line that it picks: `{print $2}` behind a condition that only compares. */
const PRINTS_FIELD = /^(?:[^{}()=]|[=!<>]=)*\{\s*print\s+\$(\d+|NF)\s*\}$/;

/** Which field of its lines `awk '{print $1}'` hands on; `$NF` counts as the last of very many. */
function selectedField(node: SyntaxNode): number | undefined {
  if (node.type !== 'Command' || node.name?.value !== 'awk') return undefined;
  const words = plainWords(node);
  const field = words.length === 1 ? PRINTS_FIELD.exec(words[0] as string)?.[1] : undefined;
  if (field === undefined || /getline/.test(words[0] as string)) return undefined;
  return field === 'NF' ? Number.MAX_SAFE_INTEGER : Number(field);
}

/** `awk 'NR==2 {print $5}'` prints one word at most, whatever its input. */
function oneWord(node: SyntaxNode): HoleKind | undefined {
  const program = node.type === 'Command' && node.name?.value === 'awk' ? plainWords(node) : [];
  return program.length === 1 &&
    /^NR ?== ?\d+ ?\{ ?print \$(\d+|NF) ?\}$/.test(program[0] as string)
    ? { kind: 'word' }
    : undefined;
}

/** `cut` picks words out of lines and makes none up. */
function cutsFields(node: SyntaxNode): boolean {
  return (
    node.type === 'Command' &&
    node.name?.value === 'cut' &&
    /^-d(.| .) -f ?[\d,-]+$|^-f ?[\d,-]+( -d(.| .))?$/.test(plainWords(node).join(' '))
  );
}

function leadingIds(node: SyntaxNode, registry: Registry, lookup: Lookup): number {
  if (node.type !== 'Command' || !node.name) return 0;
  if (node.redirects.some((redirect) => redirect.operator === '>&')) return 0;
  const words = [node.name, ...node.suffix.filter((item) => item.type === 'Word')];
  const [first, ...args] = words.flatMap((word) => readWord(word, lookup));
  if (!first || !isKnown(first)) return 0;
  return registry(first.value)?.leadingIds?.({ name: first.value, args, input: NO_INPUT }) ?? 0;
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
