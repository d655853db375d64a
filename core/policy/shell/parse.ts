/**
 * The door to the shell grammar: the only file that imports `unbash`. It hands out the tree and says whether all of the source
 * was understood; what was not is never read-only (P2).
 */
import { forEachChild, parse as parseBash } from 'unbash';
import type { ParsedScript, SyntaxNode } from 'unbash';

export { forEachChild };
export type {
  ArithmeticExpression,
  Assignment,
  Command,
  CommandExpansionPart,
  CompoundCommand,
  HereDoc,
  ParameterExpansionPart,
  ParameterOperation,
  ParsedScript,
  PipelineNode,
  Redirection,
  Script,
  Statement,
  SyntaxNode,
  TestExpression,
  Word,
  WordPart,
} from 'unbash';

/** Longest source that is parsed, in UTF-16 code units. Longer text took up to 142 ms and is only searched for danger. */
export const MAX_PARSED_LENGTH = 8192;

/** A parsed source with the first thing that was wrong with it, or undefined when all of it was understood. */
export interface Parsed {
  script: ParsedScript;
  fault: string | undefined;
}

/** Parses Bash source. Never throws; the tree of faulty source is partial. */
export function parseShell(source: string): Parsed {
  const script = parseBash(source);
  return {
    script,
    fault: script.errors?.[0]?.message ?? leftover(source, script) ?? between(script, source),
  };
}

/**
 * Text behind the last statement that is neither separator nor comment. The grammar drops a lone `(` there without an error;
 * Bash refuses it. Here-document bodies stand there too, so source with one is left to the parser.
 */
function leftover(source: string, script: ParsedScript): string | undefined {
  if (source.includes('<<')) return undefined;
  const end = script.commands.at(-1)?.end ?? 0;
  const rest = source
    .slice(end)
    .replace(/\\\n/g, '')
    .replace(/#[^\n]*/g, '');
  return /^[\s;&]*$/.test(rest)
    ? undefined
    : `unexpected ${JSON.stringify(rest.trim().slice(0, 20))}`;
}

/**
 * Text between the words of a command that is not blank. The grammar passes over a parenthesis there (`kubectl( get`), which Bash
 * refuses. Scripts in backticks count from their own source.
 */
function between(node: SyntaxNode, source: string): string | undefined {
  const text = node.type === 'Script' ? (node.source ?? source) : source;
  if (node.type === 'Command') {
    const items = [...node.prefix, ...(node.name ? [node.name] : []), ...node.suffix];
    let end = node.pos;
    for (const item of items) {
      const gap = text.slice(end, item.pos);
      if (!/^(\s|\\\n)*$/.test(gap)) return `unexpected ${JSON.stringify(gap.trim())}`;
      end = item.end;
    }
  }
  let found: string | undefined;
  forEachChild(node, (child) => {
    found ??= between(child, text);
  });
  return found;
}
