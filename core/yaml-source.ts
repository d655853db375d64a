import { readFileSync } from 'node:fs';
import { LineCounter, isMap, isNode, isPair, isScalar, parseDocument, stringify } from 'yaml';
import type { Document, Node } from 'yaml';
import { z } from 'zod';
import { NomosError, errorText } from './errors.ts';

/** One thing that is wrong in a file of the operator's. `line` and `column` count from 1. */
export interface FileProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** How many problems a message lists before it only counts the rest. */
const SHOWN_PROBLEMS = 20;

/**
 * A file of the operator's (ontology, inventory, policy) that cannot be used. The message has one line per problem, as
 * `file:line:column: what is wrong and what is allowed`; all problems of a file are told at once.
 */
export class YamlFileError extends NomosError {
  readonly file: string;
  /** Sorted by line and column. */
  readonly problems: readonly FileProblem[];

  constructor(file: string, problems: readonly FileProblem[]) {
    const sorted = problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
    const lines = sorted
      .slice(0, SHOWN_PROBLEMS)
      .map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`);
    const rest = sorted.length - lines.length;
    super(
      'file_invalid',
      'operator',
      [...lines, ...(rest > 0 ? [`${file}: and ${rest} more`] : [])].join('\n'),
      { fields: { file, problems: sorted } },
    );
    this.file = file;
    this.problems = sorted;
  }
}

/** Where something stands in a file: keys and list positions from the top. */
export type YamlPath = readonly PropertyKey[];

/** A YAML file that has been read, with a way back from a value to its line. */
export class YamlSource {
  readonly file: string;
  readonly problems: FileProblem[] = [];
  readonly #document: Document;
  readonly #lines: LineCounter;

  private constructor(file: string, document: Document, lines: LineCounter) {
    this.file = file;
    this.#document = document;
    this.#lines = lines;
  }

  /**
   * Reads a file. Throws `YamlFileError` when it cannot be read or is not YAML; duplicate keys
   * count as not YAML.
   */
  static read(file: string): YamlSource {
    return YamlSource.parse(file, YamlSource.textOf(file));
  }

  /** The text of a file. Throws `YamlFileError` when it cannot be read. */
  static textOf(file: string): string {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      const message = `cannot be read: ${errorText(error)}`;
      throw new YamlFileError(file, [{ line: 1, column: 1, message }]);
    }
  }

  /** As `read`, for text that is already there; `file` is only the name used in messages. */
  static parse(file: string, text: string): YamlSource {
    const lines = new LineCounter();
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
    const source = new YamlSource(file, document, lines);
    for (const error of document.errors)
      source.#addAt(error.pos[0], `not valid YAML: ${error.message}`);
    source.throwIfWrong();
    return source;
  }

  /**
   * Checks the whole file against a schema and returns what the schema makes of it. Throws
   * `YamlFileError` with every violation at its line. `whereTo` may say where a key that is not known belongs.
   */
  check<T>(
    schema: z.ZodType<T>,
    whereTo: (path: YamlPath, key: string) => string | undefined = () => undefined,
  ): T {
    const result = schema.safeParse(this.#document.toJS() as unknown);
    if (result.success) return result.data;
    for (const issue of result.error.issues) this.#addIssue(issue, schema, whereTo);
    throw new YamlFileError(this.file, this.problems);
  }

  /** Notes a problem with the value at a path; `throwIfWrong` then throws all of them. */
  add(path: YamlPath, message: string): void {
    this.#addAt(this.#offsetOf(path), message);
  }

  /** The line, counted from 1, of the value at a path or of the nearest thing around it. */
  lineOf(path: YamlPath): number {
    return this.#lines.linePos(this.#offsetOf(path)).line;
  }

  /** Throws `YamlFileError` when a problem was noted. */
  throwIfWrong(): void {
    if (this.problems.length > 0) throw new YamlFileError(this.file, this.problems);
  }

  #addIssue(
    issue: z.core.$ZodIssue,
    schema: z.ZodType,
    whereTo: (path: YamlPath, key: string) => string | undefined,
  ): void {
    const where = issue.path.length > 0 ? issue.path.map(String).join('.') : 'the file';
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) {
        const hint = whereTo(issue.path, key) ?? allowedKeys(schema, issue.path);
        this.#addAt(
          this.#keyOffset(issue.path, key),
          `unknown key ${quote(key)} in ${where}${hint === undefined ? '' : `; ${hint}`}`,
        );
      }
      return;
    }
    const given = this.#document.getIn(issue.path, false);
    const shown = given === undefined || isNode(given) ? '' : ` (given: ${quote(given)})`;
    this.add(issue.path, `${where}: ${issue.message}${shown}`);
  }

  #addAt(offset: number, message: string): void {
    const { line, col } = this.#lines.linePos(offset);
    this.problems.push({ line: Math.max(line, 1), column: Math.max(col, 1), message });
  }

  /** A missing value has no place of its own, so the nearest thing around it stands for it. */
  #offsetOf(path: YamlPath): number {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = this.#document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return node.range[0];
    }
    return 0;
  }

  #keyOffset(path: YamlPath, key: string): number {
    const parent = path.length > 0 ? this.#document.getIn(path, true) : this.#document.contents;
    if (isMap(parent)) {
      const pair = parent.items.find((item) => isPair(item) && keyText(item.key) === key);
      const node = pair?.key as Node | undefined;
      if (isNode(node) && node.range) return node.range[0];
    }
    return this.#offsetOf(path);
  }
}

/** A value as YAML, in the order of its keys. */
export function toYaml(value: unknown): string {
  return stringify(value, { lineWidth: 0 });
}

/** Shows a value of a file in a message: as JSON, cut to 60 characters. */
export function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

/** Lists what is allowed, sorted, for a message: `a, b, c`. */
export function listed(names: Iterable<string>): string {
  return [...names].toSorted().join(', ');
}

/** The keys that a schema takes at a path, in words; undefined where it is no object, or takes any. */
function allowedKeys(schema: z.core.$ZodType, path: YamlPath): string | undefined {
  const [key, ...rest] = path;
  if (schema instanceof z.ZodObject) {
    if (key === undefined) return `allowed: ${Object.keys(schema.shape).join(', ')}`;
    const inner: unknown = schema.shape[String(key)];
    return inner instanceof z.ZodType ? allowedKeys(inner, rest) : undefined;
  }
  if (schema instanceof z.ZodArray && key !== undefined) return allowedKeys(schema.element, rest);
  if (schema instanceof z.ZodRecord && key !== undefined) {
    return allowedKeys(schema.valueType, rest);
  }
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) {
    return allowedKeys(schema.unwrap(), path);
  }
  return schema instanceof z.ZodPipe ? allowedKeys(schema.in, path) : undefined;
}

function keyText(key: unknown): string {
  return isScalar(key) ? String(key.value) : String(key);
}
