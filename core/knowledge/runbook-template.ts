import { forEachChild, parseShell, type SyntaxNode, type Word } from '../policy/shell/parse.ts';

/** What a parameter has been given. */
export type ParameterValue = string | number | boolean;
/** Values by the names of their parameters. */
export type ParameterValues = Readonly<Record<string, ParameterValue>>;

// `{{name}}`, or `{{name.name}}` for the name in an entity's slug. Anything else in braces, as Docker's formats have it, is text.
const PLACEHOLDER = /\{\{\s*([a-z][a-z0-9_]*)(\.name)?\s*\}\}/g;

/** The names of the parameters that a template asks for. */
export function namesIn(template: string): string[] {
  return [...new Set([...template.matchAll(PLACEHOLDER)].map(([, name = '']) => name))];
}

/** A template of plain text with its values, as they are. */
export function fillText(template: string, values: ParameterValues): string {
  return filled(template, values, String);
}

/** A template of plain text before it has values, as people read it: each place shows the name of what comes there. */
export function openText(template: string): string {
  return template.replace(PLACEHOLDER, (_all, name: string) => `‹${name.replaceAll('_', ' ')}›`);
}

/**
 * A template of shell source with its values (Z3): each stands there as one word that the shell takes literally, whatever it holds.
 * Only for templates that `faultOfShell` finds nothing wrong with.
 */
export function fillShell(template: string, values: ParameterValues): string {
  return filled(template, values, (value) => quoteForShell(String(value)));
}

/** A value as one literal word of a POSIX shell. */
function quoteForShell(value: string): string {
  if (/^[A-Za-z0-9_./:@%+,-]+$/.test(value)) return value;
  return `'${value.replaceAll("'", String.raw`'\''`)}'`;
}

function filled(
  template: string,
  values: ParameterValues,
  write: (value: ParameterValue) => string,
): string {
  return template.replace(PLACEHOLDER, (_all, name: string, part: string | undefined) => {
    const value = values[name];
    if (value === undefined) throw new RangeError(`no value for the parameter ${name}`);
    return write(part === undefined ? value : nameOfSlug(String(value)));
  });
}

function nameOfSlug(slug: string): string {
  return slug.slice(slug.indexOf(':') + 1);
}

// What a shell must take literally in both cases: the one means nothing to it, the other everything but the end of its quotes.
const PLAIN = 'plain-value';
const HOSTILE = 'a "$(b)" `c` ${d} ; & | > < * ? # ~ ! \\ e';

/** Programs that read their arguments as source of their own, for which a quoted word is no protection. */
const READS_SOURCE =
  /^(?:eval|trap|source|let|declare|typeset|local|export|readonly|unset|read|\.|(?:ba|da|a|z|k)?sh|su|ssh|xargs|watch|parallel|env|python3?|perl|ruby|node|awk|gawk|mawk|sed|find|psql|mysql|mariadb|sqlite3|pct|qm|docker|podman|kubectl|script|timeout|nohup|sudo|doas|at|crontab)$/;

/**
 * What is wrong with a template of shell source; undefined if nothing is. It must be whole source by itself, and every placeholder
 * must stand where one literal word may stand: the grammar is asked, with a harmless value and with a hostile one, and both must be
 * read alike. `free`: the parameters that may hold anything, which no program may get that reads its arguments as source.
 */
export function faultOfShell(template: string, free: ReadonlySet<string>): string | undefined {
  const names = namesIn(template);
  const all = (value: string): ParameterValues =>
    Object.fromEntries(names.map((name) => [name, value]));
  const { fault } = parseShell(fillShell(template, all(PLAIN)));
  if (fault !== undefined) return `no valid shell source: ${fault}`;
  for (const name of names) {
    const others = all(PLAIN);
    const read = (value: string): string[] =>
      shapeOf(fillQuoted(template, { ...others, [name]: value }), value);
    const [plain, hostile] = [read(`${PLAIN}-itself`), read(HOSTILE)];
    const wanted = [...template.matchAll(PLACEHOLDER)].filter((match) => match[1] === name).length;
    const seen = hostile.reduce((sum, node) => sum + node.split(MARK).length - 1, 0);
    if (JSON.stringify(plain) !== JSON.stringify(hostile) || seen !== wanted) {
      return `{{${name}}} must stand by itself as a word or a part of one: not in quotes, a comment, a here-document, arithmetic, or an expansion. Put it into a variable first: ${name}={{${name}}}, then "$${name}"`;
    }
  }
  const source = sourceReader(fillQuoted(template, all(HOSTILE)), template, free);
  return source === undefined
    ? undefined
    : `${source} reads its arguments as source, so that a parameter of type text must not be near it: use word, path, choice or integer`;
}

/** As `fillShell`, with quotes around every value, so that both values are written alike. */
function fillQuoted(template: string, values: ParameterValues): string {
  return filled(template, values, (value) => `'${String(value)}'`);
}

const MARK = '\u0001';

/**
 * The tree of some source in words: the kinds of its nodes, and what each word is made of, with a mark for the value where the shell
 * takes it literally. What stands inside of an expansion or of arithmetic is passed over: there quotes may mean something else.
 */
function shapeOf(source: string, value: string): string[] {
  const { script, fault } = parseShell(source);
  const found = [`fault ${fault !== undefined}`];
  const visit = (node: SyntaxNode): void => {
    if (/^(?:SingleQuoted|Literal|ParameterExpansion|Arithmetic\w*)$/.test(node.type)) return;
    found.push(node.type === 'Word' ? wordShape(node, value) : node.type);
    forEachChild(node, visit);
  };
  visit(script);
  return found;
}

function wordShape(word: Word, value: string): string {
  if (word.parts === undefined) return `Word ${word.value}`;
  const parts = word.parts.map((part) => {
    if (part.type === 'SingleQuoted') return part.value === value ? MARK : part.text;
    return part.type === 'Literal' ? part.value : part.type;
  });
  return `Word ${parts.join(' + ')}`;
}

/** The first program in a source with free parameters that reads source from its arguments. */
function sourceReader(
  source: string,
  template: string,
  free: ReadonlySet<string>,
): string | undefined {
  if (!namesIn(template).some((name) => free.has(name))) return undefined;
  let found: string | undefined;
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Command') {
      const name = node.name?.value.split('/').at(-1) ?? '';
      if (READS_SOURCE.test(name)) found ??= name;
    }
    // Bash evaluates what it compares as numbers, subscripts too.
    if (node.type === 'TestCommand' || node.type.startsWith('Arithmetic')) found ??= '[[ … ]]';
    if (node.type === 'Assignment' && /^\w+\[/.test(source.slice(node.pos, node.end)))
      found ??= 'a subscript';
    forEachChild(node, visit);
  };
  visit(parseShell(source).script);
  return found;
}
