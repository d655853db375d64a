/** Expressions that Bash evaluates by itself: arithmetic, `[[ ]]`, `${…}`. What they evaluate again is a way to run commands. */
import { changes, HOLE, isKnown, shown } from '../model.ts';
import type { Arg, Finding } from '../model.ts';
import { assignmentFindings } from './assignments.ts';
import type {
  ArithmeticExpression,
  ParameterExpansionPart,
  ParsedScript,
  TestExpression,
  Word,
} from './parse.ts';

type Numeric = (name: string) => boolean;

/** What can only be a whole number: variables by their names, and substitutions by what they run. */
export interface Numbers {
  variable: Numeric;
  substitution: (script: ParsedScript) => boolean;
}

/** Arithmetic: numbers alone are harmless, and what can only be numbers. Names are evaluated again by Bash. */
export function arithmeticFindings(
  expression: ArithmeticExpression | undefined,
  numbers: Numbers,
  command: boolean,
): Finding[] {
  if (!expression) return command ? [] : [changes('arithmetic that could not be read')];
  switch (expression.type) {
    case 'ArithmeticWord': {
      const text = expression.value.trim();
      if (/^(0[xX])?[\da-fA-F]+$/.test(text) && /^\d/.test(text)) return [];
      const name = /^\$?\{?([A-Za-z_]\w*)\}?$/.exec(text)?.[1];
      if (name !== undefined && numbers.variable(name)) return [];
      if (/^\$[#?$]$|^\$\{#\w+\}$/.test(text)) return [];
      return [changes(`arithmetic evaluates ${shown(text)}`)];
    }
    case 'ArithmeticGroup':
      return arithmeticFindings(expression.expression, numbers, command);
    case 'ArithmeticUnary':
      if (/^(\+\+|--)$/.test(expression.operator)) return stored(expression.operand, numbers);
      return arithmeticFindings(expression.operand, numbers, command);
    case 'ArithmeticBinary':
      if (/(?<![<>=!])=$/.test(expression.operator))
        return [
          ...stored(expression.left, numbers),
          ...arithmeticFindings(expression.right, numbers, command),
        ];
      return [
        ...arithmeticFindings(expression.left, numbers, command),
        ...arithmeticFindings(expression.right, numbers, command),
      ];
    case 'ArithmeticTernary':
      return [expression.test, expression.consequent, expression.alternate].flatMap((part) =>
        arithmeticFindings(part, numbers, command),
      );
    case 'ArithmeticCommandExpansion':
      // Its command is looked at by itself; here only what it prints matters, which Bash evaluates.
      return expression.script && numbers.substitution(expression.script)
        ? []
        : [changes('arithmetic evaluates a command')];
    default: {
      const never: never = expression;
      throw new TypeError(`arithmetic ${JSON.stringify(never)}`);
    }
  }
}

/** What speaks against storing a number into a variable: it must be a plain one that holds a number already. */
function stored(target: ArithmeticExpression, numbers: Numbers): Finding[] {
  const name =
    target.type === 'ArithmeticWord' ? /^[A-Za-z_]\w*$/.exec(target.value.trim())?.[0] : undefined;
  if (name === undefined || !numbers.variable(name))
    return [changes('arithmetic changes a variable')];
  return assignmentFindings(name);
}

/** `${…}`: plain ones, lengths, literal patterns and defaults are harmless; what is evaluated again or assigns is not. */
export function parameterFindings(part: ParameterExpansionPart, numeric: Numeric): Finding[] {
  const what = shown(part.text);
  if (!/^(\w+|[@*#?$!-])$/.test(part.parameter))
    return [changes(`an expansion that no rule names: ${what}`)];
  if (part.prefix === '!') return [changes(`indirect expansion ${what}`)];
  if (part.index && !/^(@|\*|\d+)$/.test(part.index.text))
    return [changes(`${what} evaluates an index`)];
  const operation = part.operation;
  if (!operation) return [];
  switch (operation.type) {
    case 'Default':
      if (operation.operator.includes('=')) return [changes(`${what} assigns`)];
      return operandFindings(operation.operand, what);
    case 'Remove':
      return operandFindings(operation.operand, what);
    case 'Replace':
      return [
        ...operandFindings(operation.pattern, what),
        ...operandFindings(operation.replacement, what),
      ];
    case 'CaseModification':
      return operation.operand ? operandFindings(operation.operand, what) : [];
    case 'Slice': {
      const number = (word: Word | undefined): boolean =>
        word === undefined ||
        /^\s*\(?-?\d+\)?\s*$/.test(word.text) ||
        numeric(word.text.replace(/^\$/, ''));
      return number(operation.offset) && number(operation.length)
        ? []
        : [changes(`${what} evaluates arithmetic`)];
    }
    case 'Transform':
    case 'Names':
    case 'Unknown':
      return [changes(`an expansion that is evaluated again: ${what}`)];
    default: {
      const never: never = operation;
      throw new TypeError(`operation ${JSON.stringify(never)}`);
    }
  }
}

/** Operands hold text, quoted or not, or plain variables; nothing that runs. */
function operandFindings(operand: Word, what: string): Finding[] {
  return /\$\(|`|<\(|>\(|\$\{[^}]*[^\w}#%][^}]*\}/.test(operand.text)
    ? [changes(`a substitution inside ${what}`)]
    : [];
}

const NUMERIC = /^-(eq|ne|lt|le|gt|ge)$/;
const FILE_TESTS = /^-[abcdefghknoprstuwxzGLNOS]$/;

/** `[[ … ]]`: files, strings and patterns. Numeric comparisons evaluate their operands; `-v` and `-R` evaluate an index. */
export function testFindings(expression: TestExpression, read: (word: Word) => Arg): Finding[] {
  switch (expression.type) {
    case 'TestLogical':
      return expression.operands.flatMap((operand) => testFindings(operand, read));
    case 'TestNot':
      return testFindings(expression.operand, read);
    case 'TestGroup':
      return testFindings(expression.expression, read);
    case 'TestUnary':
      return FILE_TESTS.test(expression.operator) && expression.operator !== '-t'
        ? wordFindings(expression.operand)
        : [changes(`[[ ${expression.operator} ]] evaluates its operand`)];
    case 'TestBinary': {
      const words = [expression.left, expression.right];
      const inner = words.flatMap(wordFindings);
      if (!NUMERIC.test(expression.operator)) return inner;
      const numbers = words.every((word) => {
        const arg = read(word);
        return (
          (isKnown(arg) && /^-?\d{1,18}$/.test(arg.value)) ||
          (arg.value === HOLE && arg.holes[0]?.kind === 'id' && arg.holes[0].number === true) ||
          /^\$[#?$]$|^\$\{#\w+\}$/.test(word.text)
        );
      });
      return numbers
        ? inner
        : [
            ...inner,
            changes(
              `[[ ${expression.operator} ]] evaluates ${shown(words.map((word) => word.text).join(' '))}`,
            ),
          ];
    }
    default: {
      const never: never = expression;
      throw new TypeError(`test ${JSON.stringify(never)}`);
    }
  }
}

function wordFindings(word: Word): Finding[] {
  return (word.parts ?? []).flatMap((part) =>
    part.type === 'ParameterExpansion' ? parameterFindings(part, () => false) : [],
  );
}
