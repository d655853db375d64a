/** Small questions about the tree that need no walk. */
import { forEachChild } from './parse.ts';
import type { SyntaxNode, TestExpression, Word, WordPart } from './parse.ts';

/** The names of all variables that a word uses directly. */
export function variablesIn(word: Word): string[] {
  const names: string[] = [];
  const visit = (part: WordPart): void => {
    if (part.type === 'SimpleExpansion') names.push(part.text.slice(1));
    else if (part.type === 'ParameterExpansion') names.push(part.parameter);
    else if (part.type === 'DoubleQuoted' || part.type === 'LocaleString')
      part.parts.forEach(visit);
    else if (part.type === 'BraceExpansion')
      names.push(...(part.text.match(/(?<=\$\{?)\w+/g) ?? []));
  };
  word.parts?.forEach(visit);
  return names;
}

/** True when a word's text depends on anything but itself: the name of a command must not. */
export function isComputed(word: Word | undefined): boolean {
  const computed = (part: WordPart): boolean =>
    part.type === 'DoubleQuoted' || part.type === 'LocaleString'
      ? part.parts.some(computed)
      : !/^(Literal|SingleQuoted|AnsiCQuoted)$/.test(part.type);
  return word?.parts?.some(computed) ?? false;
}

type Substitution = Extract<
  SyntaxNode,
  { type: 'CommandExpansion' | 'ProcessSubstitution' | 'ArithmeticCommandExpansion' }
>;

/** The outermost substitutions below a node, wherever they stand. */
export function substitutionsBelow(node: SyntaxNode): Substitution[] {
  const found: Substitution[] = [];
  const visit = (child: SyntaxNode): void => {
    if (
      child.type === 'CommandExpansion' ||
      child.type === 'ProcessSubstitution' ||
      child.type === 'ArithmeticCommandExpansion'
    ) {
      found.push(child);
    } else forEachChild(child, visit);
  };
  forEachChild(node, visit);
  return found;
}

/** The words of a `[[ … ]]` expression. */
export function wordsOfTest(expression: TestExpression): Word[] {
  switch (expression.type) {
    case 'TestLogical':
      return expression.operands.flatMap(wordsOfTest);
    case 'TestNot':
      return wordsOfTest(expression.operand);
    case 'TestGroup':
      return wordsOfTest(expression.expression);
    case 'TestUnary':
      return [expression.operand];
    default:
      return [expression.left, expression.right];
  }
}

/** A loop over `read` ends with its input; any other condition may hold for ever. */
export function readsInput(clause: SyntaxNode): boolean {
  if (clause.type !== 'CompoundList' || clause.commands.length !== 1) return false;
  const only = clause.commands[0]?.command;
  return only?.type === 'Command' && only.name?.value === 'read';
}

/** True when each round of a loop leaves a command running and none waits: neither `wait` nor `sleep` stands in front. */
export function leavesRunning(body: SyntaxNode): boolean {
  if (body.type !== 'CompoundList') return false;
  const waits = body.commands.some(
    ({ background, command }) =>
      !background &&
      command.type === 'Command' &&
      /^(wait|sleep|read)$/.test(command.name?.value ?? ''),
  );
  return !waits && body.commands.some((statement) => statement.background === true);
}

/** A function that calls itself in a pipe or in the background multiplies without end. */
export function isForkBomb(name: string, body: SyntaxNode): boolean {
  const forksItself = (node: SyntaxNode, forks: boolean): boolean => {
    switch (node.type) {
      case 'Command':
        return forks && node.name?.value === name;
      case 'Statement':
        return forksItself(node.command, forks || node.background === true);
      case 'Pipeline':
        return node.commands.some((part) => forksItself(part, true));
      case 'CompoundList':
      case 'AndOr':
        return node.commands.some((part) => forksItself(part, forks));
      case 'Subshell':
      case 'BraceGroup':
      case 'While':
      case 'For':
        return forksItself(node.body, forks);
      case 'Redirected':
        return forksItself(node.command, forks);
      case 'If':
        return forksItself(node.then, forks);
      default:
        return false;
    }
  };
  return forksItself(body, false);
}

/** The variable that a piece of arithmetic stores into: `i++`, `i = 5`, `i += 2`. */
export function arithmeticTarget(node: SyntaxNode): string | undefined {
  const target =
    node.type === 'ArithmeticUnary' && /^(\+\+|--)$/.test(node.operator)
      ? node.operand
      : node.type === 'ArithmeticBinary' && /(?<![<>=!])=$/.test(node.operator)
        ? node.left
        : undefined;
  return target?.type === 'ArithmeticWord'
    ? /^[A-Za-z_]\w*/.exec(target.value.trim())?.[0]
    : undefined;
}
