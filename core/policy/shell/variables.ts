/**
 * What the variables of a script can hold. Every assignment anywhere in the script counts, in no order: a name whose values are
 * all plain text has those values (and perhaps none); a name that anything else sets is not known.
 */
import { HOLE, isKnown } from '../model.ts';
import type { Arg, HoleKind } from '../model.ts';
import { forEachChild } from './parse.ts';
import type { Assignment, Command, SyntaxNode, Word } from './parse.ts';
import { arithmeticTarget, readsInput } from './visit.ts';
import { readText, readWord } from './words.ts';
import type { Lookup } from './words.ts';

/** What a variable may hold: texts, and what is known of values that are only known at run time. */
export interface Known {
  texts: readonly string[];
  /** Set when some value is not plain text; `any` when nothing is known of it. */
  hole: HoleKind | undefined;
  /** The likeliest of the values that are not plain text. */
  guess: string | undefined;
  /** True when something else than arithmetic sets it, which might read what came from outside first. */
  plain: boolean;
  /** Where in the source the variable has certainly been set; before it may be empty. */
  since: number | undefined;
}

/** The variables that a script sets. A name that is absent comes from outside. */
export type Values = ReadonlyMap<string, Known>;

/** Most values that are followed for one variable. */
const MAX_VALUES = 256;

/** Commands that set variables by name in their arguments. */
const SETTERS = new Set([
  'read',
  'mapfile',
  'readarray',
  'getopts',
  'unset',
  'export',
  'declare',
  'typeset',
  'local',
  'readonly',
  'let',
  'eval',
  'source',
  '.',
  'wait',
]);

interface Found {
  plain: boolean;
  texts: Set<string>;
  hole: HoleKind | undefined;
  guess: string | undefined;
}

interface Sources {
  found: Map<string, Found>;
  assignments: Assignment[];
  loops: { name: string; words: readonly Word[] | undefined }[];
  /** Variables that `read` takes from a pipe, with what comes through it. */
  piped: { name: string; from: SyntaxNode }[];
}

const ANY: HoleKind = { kind: 'any' };

/**
 * Reads all assignments below a node. `substitution` says what is known of a substitution's output, `output` of a command's.
 */
export function variablesOf(
  root: SyntaxNode,
  substitution: Lookup['substitution'],
  output: (node: SyntaxNode) => HoleKind,
): Values {
  const sources: Sources = { found: new Map(), assignments: [], loops: [], piped: [] };
  collect(root, sources);
  const { found } = sources;
  if (
    found.size === 0 &&
    sources.assignments.length === 0 &&
    sources.loops.length === 0 &&
    sources.piped.length === 0
  )
    return new Map();
  let settled = new Map<string, Found>();
  for (let round = 0; round < 3; round++) {
    const before = settled;
    const lookup: Lookup = {
      variable: (name) => single(before.get(name)),
      hole: (name) => before.get(name)?.hole ?? ANY,
      guess: (name) => before.get(name)?.guess,
      substitution,
      positional: () => undefined,
    };
    settled = new Map();
    for (const [name, entry] of found) settled.set(name, { ...entry, texts: new Set(entry.texts) });
    for (const loop of sources.loops) {
      if (!loop.words) note(settled, loop.name, undefined);
      else
        for (const word of loop.words)
          for (const arg of readWord(word, lookup)) note(settled, loop.name, arg);
    }
    for (const assignment of sources.assignments) {
      const plain = assignment.value.type === 'Word' && !assignment.append && !assignment.index;
      note(settled, assignment.name, plain ? readText(assignment.value, lookup) : undefined);
    }
  }
  for (const { name, from } of sources.piped) {
    const entry = entryOf(settled, name);
    entry.hole = both(entry.hole, output(from));
  }
  const since = certain(root);
  for (const entry of settled.values()) if (entry.texts.size > MAX_VALUES) entry.hole = ANY;
  return new Map(
    [...settled].map(([name, entry]) => [
      name,
      { ...entry, texts: [...entry.texts], since: since.get(name) },
    ]),
  );
}

function single(entry: Found | undefined): string | undefined {
  return entry && !entry.hole && entry.texts.size === 1 ? [...entry.texts][0] : undefined;
}

function note(found: Map<string, Found>, name: string, arg: Arg | undefined): void {
  const entry = entryOf(found, name);
  entry.plain = true;
  if (arg && isKnown(arg)) entry.texts.add(arg.value);
  else {
    entry.hole = both(entry.hole, kindOf(arg));
    entry.guess = arg?.guess ?? entry.guess;
  }
}

/** What is known of a value that is one of two. */
function both(one: HoleKind | undefined, other: HoleKind): HoleKind {
  if (!one) return other;
  if (one.kind === 'id' && other.kind === 'id')
    return one.number && other.number ? one : { kind: 'id' };
  if (one.kind === 'paths' && other.kind === 'paths')
    return { kind: 'paths', patterns: [...one.patterns, ...other.patterns].slice(0, 16) };
  return one.kind === other.kind ? one : ANY;
}

/** A word of nothing but id holes and letters is an id; one that is a single hole of paths keeps its patterns. */
function kindOf(arg: Arg | undefined): HoleKind {
  if (!arg || arg.holes.length === 0)
    return arg?.glob && /^[/~]/.test(arg.value) ? { kind: 'paths', patterns: [arg.value] } : ANY;
  const [first] = arg.holes;
  if (arg.value === HOLE && first) return first;
  const ids =
    arg.holes.every((hole) => hole.kind === 'id') && !arg.glob && !/^-|[\s/]/.test(arg.value);
  return ids ? { kind: 'id' } : ANY;
}

function entryOf(found: Map<string, Found>, name: string): Found {
  const entry = found.get(name) ?? {
    plain: false,
    texts: new Set<string>(),
    hole: undefined,
    guess: undefined,
  };
  found.set(name, entry);
  return entry;
}

function collect(node: SyntaxNode, into: Sources): void {
  const unknown = (text: string): void => {
    for (const name of text.match(/[A-Za-z_]\w*/g) ?? []) entryOf(into.found, name).hole = ANY;
  };
  if (node.type === 'ArithmeticFor' && node.initialize) {
    const counter = arithmeticTarget(node.initialize);
    if (counter !== undefined) entryOf(into.found, counter).plain = true;
  }
  if (node.type === 'Assignment') into.assignments.push(node);
  else if (node.type === 'For' || node.type === 'Select')
    into.loops.push({ name: node.name.value, words: node.wordlist });
  else if (
    node.type === 'ParameterExpansion' &&
    node.operation?.type === 'Default' &&
    /=/.test(node.operation.operator)
  ) {
    unknown(node.parameter);
  } else if (arithmeticTarget(node) !== undefined) {
    // Whatever arithmetic stores is a whole number.
    const entry = entryOf(into.found, arithmeticTarget(node) as string);
    entry.hole = both(entry.hole, { kind: 'id', number: true });
  } else if (node.type === 'Redirect' && node.descriptor?.type === 'FileDescriptorVariable')
    unknown(node.descriptor.name);
  else if (node.type === 'Pipeline' && pipedRead(node, into)) return;
  else if (node.type === 'Command' && sets(node)) {
    for (const word of node.suffix) if (word.type === 'Word') unknown(word.value);
  }
  forEachChild(node, (child) => collect(child, into));
}

/** True when a command may set variables that its arguments name. */
function sets(command: Command): boolean {
  const words = command.suffix.flatMap((item) => (item.type === 'Word' ? [item.value] : []));
  const wrapped = /^(command|builtin|time)$/.test(command.name?.value ?? '');
  const names = wrapped ? words : [command.name?.value ?? ''];
  return (
    names.some((name) => SETTERS.has(name)) ||
    (names.includes('printf') && words.some((word) => word.startsWith('-v')))
  );
}

/** Where variables have certainly been set: by statements of the script itself that nothing makes conditional. */
function certain(root: SyntaxNode): Map<string, number> {
  const since = new Map<string, number>();
  for (const statement of root.type === 'Script' ? root.commands : []) {
    const first =
      statement.command.type === 'AndOr' ? statement.command.commands[0] : statement.command;
    if (statement.background || first?.type !== 'Command' || first.name) continue;
    for (const item of first.prefix) {
      if (item.type === 'Assignment' && !since.has(item.name)) since.set(item.name, item.end);
    }
  }
  return since;
}

/**
 * `… | while read -r x; do …; done`: the loop's variable is what comes through the pipe, when it is the only one. The rest of the
 * pipeline is collected as usual.
 */
function pipedRead(node: Extract<SyntaxNode, { type: 'Pipeline' }>, into: Sources): boolean {
  const last = node.commands.at(-1);
  const from = node.commands.slice(0, -1);
  const clause = last?.type === 'While' && readsInput(last.clause) ? last.clause : undefined;
  const read = clause?.commands[0]?.command;
  if (last?.type !== 'While' || read?.type !== 'Command' || from.length === 0) return false;
  const words = read.suffix.flatMap((item) => (item.type === 'Word' ? [item.value] : []));
  const names = words.filter((word) => !word.startsWith('-'));
  const plain = words.every((word) => /^(-r|[a-z]\w*)$/i.test(word)) && read.prefix.length < 2;
  if (names.length !== 1 || !plain) return false;
  const source =
    from.length === 1 ? from[0] : { ...node, commands: from, operators: node.operators };
  into.piped.push({ name: names[0] as string, from: source as SyntaxNode });
  for (const command of from) collect(command, into);
  collect(last.body, into);
  return true;
}
