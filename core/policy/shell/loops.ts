/** Loops that count: `while [ $i -lt 3 ]; do …; i=$((i+1)); done` and `for ((i=0; i<3; i++))` end by themselves. */
import { assignmentFindings } from './assignments.ts';
import { forEachChild } from './parse.ts';
import type { ArithmeticExpression, Statement, SyntaxNode, Word } from './parse.ts';

type While = Extract<SyntaxNode, { type: 'While' }>;
type ArithmeticFor = Extract<SyntaxNode, { type: 'ArithmeticFor' }>;

/** Most rounds of a loop that still counts as ending. */
const MAX_ROUNDS = 10_000;

/** The texts that a variable may have, when they are all that it can have. */
type Texts = (name: string) => readonly string[] | undefined;

/** A comparison of a variable with numbers. */
interface Bound {
  name: string;
  /** 1 when the variable must grow to end the loop, -1 when it must shrink. */
  grows: 1 | -1;
  limits: readonly number[];
}

const WORD_OPERATORS: Readonly<Record<string, 1 | -1>> = {
  '-lt': 1,
  '-le': 1,
  '-gt': -1,
  '-ge': -1,
};
const MARK_OPERATORS: Readonly<Record<string, 1 | -1>> = { '<': 1, '<=': 1, '>': -1, '>=': -1 };

/** True when a `while` or `until` counts to a number: one step in each round, at the loop's own level, and nothing else sets it. */
export function countsToAnEnd(loop: While, root: SyntaxNode, texts: Texts): boolean {
  const bound = boundOf(loop, texts);
  if (!bound) return false;
  const grows = loop.kind === 'until' ? -bound.grows : bound.grows;
  const steps = loop.body.commands.flatMap((statement) => {
    const step = stepOf(statement, bound.name);
    return step === undefined ? [] : [step];
  });
  const [step] = steps;
  if (steps.length !== 1 || step === undefined || Math.sign(step) !== grows) return false;
  if (jumps(loop.body)) return false;
  const starts = startsOf(root, bound.name, loop);
  return starts !== undefined && within(starts, bound.limits, step);
}

/** True when an arithmetic `for` counts from a number to a number and its body leaves the counter alone. */
export function countsUpAndDown(loop: ArithmeticFor, texts: Texts): boolean {
  const { initialize, test, update } = loop;
  if (initialize?.type !== 'ArithmeticBinary' || initialize.operator !== '=') return false;
  if (test?.type !== 'ArithmeticBinary' || !update) return false;
  const name = nameOf(initialize.left);
  const grows = MARK_OPERATORS[test.operator];
  if (name === undefined || grows === undefined || nameOf(test.left) !== name) return false;
  if (assignmentFindings(name).length > 0) return false;
  const starts = numbersOf(initialize.right, texts);
  const limits = numbersOf(test.right, texts);
  const step = stepIn(update, name);
  if (!starts || !limits || step === undefined || Math.sign(step) !== grows) return false;
  return settersOf(loop.body, name).length === 0 && within(starts, limits, step);
}

function within(starts: readonly number[], limits: readonly number[], step: number): boolean {
  return starts.every((start) =>
    limits.every((limit) => Math.abs(limit - start) / Math.abs(step) <= MAX_ROUNDS),
  );
}

function boundOf(loop: While, texts: Texts): Bound | undefined {
  const only = loop.clause.commands.length === 1 ? loop.clause.commands[0]?.command : undefined;
  if (only?.type === 'Command' && /^(\[|test)$/.test(only.name?.value ?? '')) {
    const words = only.suffix.flatMap((item) => (item.type === 'Word' ? [item] : []));
    const [left, operator, right] = words;
    if (words.length !== (only.name?.value === '[' ? 4 : 3) || !left || !operator || !right)
      return undefined;
    return compared(left, WORD_OPERATORS[operator.value], right, texts);
  }
  if (only?.type === 'TestCommand' && only.expression.type === 'TestBinary') {
    const { left, operator, right } = only.expression;
    return compared(left, WORD_OPERATORS[operator], right, texts);
  }
  if (only?.type === 'ArithmeticCommand' && only.expression?.type === 'ArithmeticBinary') {
    const { left, operator, right } = only.expression;
    const grows = MARK_OPERATORS[operator];
    const name = nameOf(left);
    const limits = numbersOf(right, texts);
    return grows !== undefined && name !== undefined && limits
      ? { name, grows, limits }
      : undefined;
  }
  return undefined;
}

function compared(
  left: Word,
  grows: 1 | -1 | undefined,
  right: Word,
  texts: Texts,
): Bound | undefined {
  const name = variableOf(left);
  const other = variableOf(right);
  const limits = other === undefined ? integers([right.value]) : integers(texts(other) ?? []);
  return grows !== undefined && name !== undefined && limits ? { name, grows, limits } : undefined;
}

/** The variable that a word is: `$i`, `"$i"`, `${i}`. */
function variableOf(word: Word): string | undefined {
  return /^"?\$\{?([A-Za-z_]\w*)\}?"?$/.exec(word.text)?.[1];
}

function nameOf(expression: ArithmeticExpression): string | undefined {
  if (expression.type === 'ArithmeticGroup') return nameOf(expression.expression);
  return expression.type === 'ArithmeticWord'
    ? /^\$?\{?([A-Za-z_]\w*)\}?$/.exec(expression.value.trim())?.[1]
    : undefined;
}

function integers(texts: readonly string[]): number[] | undefined {
  return texts.length > 0 && texts.every((text) => /^-?\d{1,9}$/.test(text.trim()))
    ? texts.map(Number)
    : undefined;
}

function numbersOf(expression: ArithmeticExpression, texts: Texts): number[] | undefined {
  const name = nameOf(expression);
  if (name !== undefined) return integers(texts(name) ?? []);
  return expression.type === 'ArithmeticWord' ? integers([expression.value]) : undefined;
}

/** By how much a statement moves a variable; undefined when it does not, or not for certain. */
function stepOf(statement: Statement, name: string): number | undefined {
  const { command } = statement;
  if (statement.background) return undefined;
  if (command.type === 'ArithmeticCommand')
    return command.expression && stepIn(command.expression, name);
  if (command.type !== 'Command' || command.prefix.length + command.suffix.length === 0)
    return undefined;
  if (command.name?.value === ':' && command.suffix.length === 1) {
    const [part, more] = command.suffix[0]?.type === 'Word' ? (command.suffix[0].parts ?? []) : [];
    return part?.type === 'ArithmeticExpansion' && !more && part.expression
      ? stepIn(part.expression, name)
      : undefined;
  }
  const [item, ...others] = command.prefix;
  if (command.name || item?.type !== 'Assignment' || item.name !== name || others.length > 0)
    return undefined;
  const [part, more] = item.value.type === 'Word' ? (item.value.parts ?? []) : [];
  const sum = part?.type === 'ArithmeticExpansion' && !more ? part.expression : undefined;
  if (item.append || item.index || sum?.type !== 'ArithmeticBinary') return undefined;
  return difference(sum, name);
}

/** `i++`, `i += 2`, `i = i - 1`. */
function stepIn(expression: ArithmeticExpression, name: string): number | undefined {
  if (expression.type === 'ArithmeticGroup') return stepIn(expression.expression, name);
  if (expression.type === 'ArithmeticUnary' && nameOf(expression.operand) === name)
    return { '++': 1, '--': -1 }[expression.operator];
  if (expression.type !== 'ArithmeticBinary' || nameOf(expression.left) !== name) return undefined;
  const [by] = numbersOf(expression.right, () => undefined) ?? [];
  if (expression.operator === '+=') return by;
  if (expression.operator === '-=') return by === undefined ? undefined : -by;
  return expression.operator === '=' && expression.right.type === 'ArithmeticBinary'
    ? difference(expression.right, name)
    : undefined;
}

function difference(
  sum: Extract<ArithmeticExpression, { type: 'ArithmeticBinary' }>,
  name: string,
): number | undefined {
  const [by] = numbersOf(sum.right, () => undefined) ?? [];
  if (by === undefined || nameOf(sum.left) !== name) return undefined;
  return sum.operator === '+' ? by : sum.operator === '-' ? -by : undefined;
}

/** `continue` may jump over the step. */
function jumps(node: SyntaxNode): boolean {
  if (node.type === 'Command' && node.name?.value === 'continue') return true;
  let found = false;
  forEachChild(node, (child) => {
    found ||= jumps(child);
  });
  return found;
}

/** All that sets a variable below a node. */
function settersOf(node: SyntaxNode, name: string): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  const sets =
    (node.type === 'Assignment' && node.name === name) ||
    ((node.type === 'For' || node.type === 'Select') && node.name.value === name) ||
    (node.type === 'ArithmeticUnary' &&
      /^(\+\+|--)$/.test(node.operator) &&
      nameOf(node.operand) === name) ||
    (node.type === 'ArithmeticBinary' &&
      /(?<![<>=!])=$/.test(node.operator) &&
      nameOf(node.left) === name) ||
    (node.type === 'Command' &&
      node.name !== undefined &&
      /^(read|mapfile|readarray|getopts|unset|export|declare|typeset|local|readonly|let|eval|source|\.|printf)$/.test(
        node.name.value,
      ) &&
      node.suffix.some((item) => item.type === 'Word' && item.value.includes(name)));
  if (sets) found.push(node);
  forEachChild(node, (child) => found.push(...settersOf(child, name)));
  return found;
}

/** The numbers that a counter is set to outside of its loop; undefined when something else sets it, or the loop sets it twice. */
function startsOf(root: SyntaxNode, name: string, loop: While): number[] | undefined {
  const inside = settersOf(loop, name);
  const outside = settersOf(root, name).filter((node) => !inside.includes(node));
  if (inside.length !== 1 || outside.length === 0) return undefined;
  return integers(
    outside.map((node) =>
      node.type === 'Assignment' && node.value.type === 'Word' && !node.append && !node.index
        ? node.value.value
        : '',
    ),
  );
}
