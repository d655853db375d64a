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

/** Filters that hand lines on as they are. */
const FILTERS = new Set(['head', 'tail', 'sort', 'uniq', 'grep', 'tac', 'shuf']);

/** What the words are that a command, pipeline or substitution prints. */
export function outputOf(node: SyntaxNode, registry: Registry, lookup: Lookup): HoleKind {
  if (node.type === 'Script') {
    const only = node.commands.length === 1 ? node.commands[0] : undefined;
    return only ? outputOf(only.command, registry, lookup) : ANY;
  }
  if (node.type === 'Pipeline') return pipeOutput(node.commands, registry, lookup);
  if (node.type !== 'Command' || !node.name) return ANY;
  const words = [node.name, ...node.suffix.filter((item) => item.type === 'Word')];
  const [first, ...rest] = words.flatMap((word) => readWord(word, lookup));
  if (!first || !isKnown(first)) return ANY;
  if (/^(echo|printf)$/.test(first.value) && rest.every(isKnown)) {
    const printed = (staticOutput(node, lookup) ?? '').trim().split(/\s+/);
    return printed.every((word) => /^[\w@.:+][\w@.:+-]*$/.test(word)) ? { kind: 'id' } : ANY;
  }
  return registry(first.value)?.output?.({ name: first.value, args: rest, input: NO_INPUT }) ?? ANY;
}

function pipeOutput(commands: readonly SyntaxNode[], registry: Registry, lookup: Lookup): HoleKind {
  let kind = ANY;
  for (const command of commands) {
    const name = command.type === 'Command' ? (command.name?.value ?? '') : '';
    const handsOn = FILTERS.has(name) || (kind.kind === 'id' && selectsFields(command));
    if (kind.kind === 'any' || !handsOn) kind = outputOf(command, registry, lookup);
  }
  return kind;
}

/** `awk '{print $1}'` and `cut` pick words out of lines and make none up. */
function selectsFields(node: SyntaxNode): boolean {
  if (node.type !== 'Command') return false;
  const words = node.suffix.map((item) => (item.type === 'Word' ? item.value : ''));
  if (node.name?.value === 'awk') {
    return words.length === 1 && /^[^"]*\{\s*print\s+\$\d+\s*\}$/.test(words[0] as string);
  }
  const cuts = words.every((word) => /^-(d.|f[\d,-]+|f|d)$|^[\d,-]+$|^.$/.test(word));
  return node.name?.value === 'cut' && cuts;
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
