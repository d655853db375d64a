/**
 * The walk over a command's tree (P2). Every node says what speaks against read-only; a node that no rule names speaks against
 * it by itself. Commands are looked up in the tables of `commands/`; what they would run in turn comes back here (P3).
 */
import {
  changes,
  destroys,
  endless,
  HOLE,
  isKnown,
  literal,
  NO_INPUT,
  shown,
  unknownArg,
} from '../model.ts';
import type { Arg, Call, Finding, HoleKind, Input, Rule, Shell } from '../model.ts';
import { assignmentFindings, prefixFindings } from './assignments.ts';
import { decodings, dangerIn, staticOutput } from './literals.ts';
import { forEachChild, MAX_PARSED_LENGTH, parseShell } from './parse.ts';
import type { Command, ParsedScript, SyntaxNode, Word, WordPart } from './parse.ts';
import { readRedirect } from './redirects.ts';
import { arithmeticFindings, parameterFindings, testFindings } from './expressions.ts';
import { variablesOf } from './variables.ts';
import type { Values } from './variables.ts';
import { readParts, readText, readWord } from './words.ts';
import type { Lookup } from './words.ts';

/** Deepest nesting of shells, wrappers and substitutions that is followed. */
const MAX_DEPTH = 40;
/** Most commands that one verdict looks at; what is beyond is not read-only. */
const MAX_COMMANDS = 1500;
/** Most combinations of variables' values that one command is judged with. */
const MAX_COMBINATIONS = 64;

/** Looks a program up by its bare name. */
export type Registry = (name: string) => Rule | undefined;

/** What all walks of one verdict share. */
export interface Session {
  registry: Registry;
  commands: number;
  directories: Set<string>;
}

/** Judges shell source. No findings means read-only. */
export function walkSource(source: string, session: Session, input: Input = NO_INPUT): Finding[] {
  const walk = new Walk(session, 0, [], input);
  walk.source(source);
  return walk.findings;
}

const SYSTEM_DIRECTORY = /^\/(usr\/(local\/)?)?s?bin\/([^/]+)$/;

class Walk implements Shell, Lookup {
  readonly findings: Finding[] = [];
  private values: Values = new Map();
  private bound = new Map<string, string>();
  private readonly loops = new Set<string>();
  private readonly functions = new Map<string, SyntaxNode>();
  private readonly session: Session;
  private readonly depth: number;
  private parameters: readonly Arg[] | undefined;
  private input: Input;
  /** True inside a container or guest. */
  private foreign = false;

  constructor(
    session: Session,
    depth: number,
    parameters: readonly Arg[] | undefined,
    input: Input,
  ) {
    this.session = session;
    this.depth = depth;
    this.parameters = parameters;
    this.input = input;
  }

  get directories(): ReadonlySet<string> {
    return this.session.directories;
  }

  enter(directory: string): void {
    this.session.directories.add(directory);
  }

  inside(): Shell {
    const walk = new Walk(this.session, this.depth, undefined, NO_INPUT);
    walk.foreign = true;
    return walk;
  }

  // ── Shell: what rules may ask ──────────────────────────────────────────────────────────────────────────────────────────────

  argv(args: readonly Arg[], input: Input): Finding[] {
    return this.nested((walk) => walk.words(args, input));
  }

  script(source: Arg, positional: readonly Arg[], input: Input): Finding[] {
    const found = this.nested((walk) => {
      walk.parameters = positional;
      walk.input = input;
      walk.values = new Map();
      if (isKnown({ ...source, glob: false })) walk.source(source.value);
      else {
        walk.findings.push(changes(`the script is only known at run time: ${shown(source)}`));
        walk.findings.push(
          ...this.suspect([source.guess ?? '', ...input.texts, source.value.replaceAll(HOLE, ' ')]),
        );
      }
    });
    return found;
  }

  suspect(texts: readonly string[]): Finding[] {
    return this.nested((walk) => {
      for (const text of texts) {
        if (text.trim() === '' || text.length > MAX_PARSED_LENGTH) continue;
        for (const candidate of [text, ...decodings(text)]) {
          walk.source(candidate);
          walk.findings.push(...dangerIn(candidate, (args) => walk.argv(args, NO_INPUT)));
        }
      }
    }).filter((finding) => finding.risk === 'destructive');
  }

  private nested(run: (walk: Walk) => void): Finding[] {
    if (this.depth >= MAX_DEPTH) return [changes('nested too deep to be followed')];
    const walk = new Walk(this.session, this.depth + 1, undefined, NO_INPUT);
    walk.foreign = this.foreign;
    run(walk);
    return walk.findings;
  }

  // ── Lookup: what words may ask ─────────────────────────────────────────────────────────────────────────────────────────────

  variable(name: string): string | undefined {
    const bound = this.bound.get(name);
    if (bound !== undefined) return bound;
    if (name === 'HOME' && !this.values.has('HOME')) return '~';
    if (/^\d$/.test(name)) {
      const value = this.parameters?.[Number(name) - 1];
      if (value && isKnown(value)) return value.value;
      return this.parameters && !value && name !== '0' ? '' : undefined;
    }
    return undefined;
  }

  hole(name: string): HoleKind {
    if (
      /^(EUID|UID|PPID|RANDOM|SECONDS|LINENO|HOSTNAME|USER|LOGNAME|BASHPID|EPOCHSECONDS|BASH_VERSION|HOSTTYPE|OSTYPE)$/.test(
        name,
      )
    ) {
      return { kind: 'id' };
    }
    return this.values.get(name)?.hole ?? { kind: 'any' };
  }

  positional(): readonly Arg[] | undefined {
    return this.parameters;
  }

  substitution(script: ParsedScript): { hole: HoleKind; guess: string | undefined } {
    return { hole: this.outputOf(script), guess: staticOutput(script, this) };
  }

  // ── Tree ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  source(source: string): void {
    if (source.length > MAX_PARSED_LENGTH) {
      this.findings.push(changes(`longer than ${MAX_PARSED_LENGTH} characters; not looked into`));
      this.findings.push(...dangerIn(source, (args) => this.argv(args, NO_INPUT)));
      return;
    }
    const { script, fault } = parseShell(source);
    if (fault !== undefined) {
      this.findings.push(changes(`the shell grammar does not accept it: ${fault}`));
      this.findings.push(...dangerIn(source, (args) => this.argv(args, NO_INPUT)));
    }
    this.values = variablesOf(script, (inner) => this.substitution(inner));
    this.script_(script);
  }

  private script_(script: ParsedScript): void {
    if (script.errors?.length)
      this.findings.push(changes('the shell grammar does not accept a part of it'));
    for (const statement of script.commands) this.node(statement);
  }

  private node(node: SyntaxNode): void {
    switch (node.type) {
      case 'Script':
        return this.script_(node);
      case 'Statement':
        if (node.background)
          this.findings.push(changes('leaves a command running in the background'));
        return this.node(node.command);
      case 'CompoundList':
      case 'AndOr':
        for (const command of node.commands) this.node(command);
        return;
      case 'Pipeline':
        return this.pipeline(node.commands);
      case 'Command':
        return this.command(node);
      case 'Redirected':
        return this.redirected(node);
      case 'Subshell':
      case 'BraceGroup':
        return this.node(node.body);
      case 'If':
        this.node(node.clause);
        this.node(node.then);
        for (const branch of node.elif) {
          this.node(branch.clause);
          this.node(branch.then);
        }
        if (node.else) this.node(node.else);
        return;
      case 'While':
        if (!readsInput(node.clause))
          this.findings.push(endless('a loop without a bound repeats its commands'));
        this.node(node.clause);
        return this.node(node.body);
      case 'For':
        return this.forLoop(node);
      case 'Case':
        this.word(node.word);
        for (const item of node.items) {
          for (const pattern of item.pattern) this.word(pattern);
          this.node(item.body);
        }
        return;
      case 'TestCommand':
        this.findings.push(...testFindings(node.expression, (word) => readText(word, this)));
        this.wordsBelow(node.expression);
        return;
      case 'ArithmeticCommand':
        this.findings.push(
          ...arithmeticFindings(node.expression, (name) => this.numeric(name), true),
        );
        return this.wordsBelow(node);
      case 'ArithmeticFor':
        this.findings.push(changes('computes with variables in a loop'));
        return this.node(node.body);
      case 'Function':
        this.findings.push(changes(`defines a function: ${shown(node.name.value)}`));
        this.functions.set(node.name.value, node.body);
        this.forkBomb(node.name.value, node.body);
        return this.node(node.body);
      case 'Coproc':
        this.findings.push(changes('starts a coprocess'));
        return this.node(node.body);
      case 'Select':
        this.findings.push(changes('asks with select'));
        return this.node(node.body);
      default:
        this.findings.push(changes(`shell syntax that no rule names: ${node.type}`));
    }
  }

  /** A function that calls itself in a pipe or in the background multiplies without end. */
  private forkBomb(name: string, body: SyntaxNode): void {
    const calls: string[] = [];
    const visit = (node: SyntaxNode, forks: boolean): void => {
      if (node.type === 'Command') {
        if (forks && node.name?.value === name) calls.push(name);
      } else if (node.type === 'Statement') visit(node.command, forks || node.background === true);
      else if (node.type === 'Pipeline') for (const part of node.commands) visit(part, true);
      else if (node.type === 'CompoundList' || node.type === 'AndOr')
        for (const part of node.commands) visit(part, forks);
      else if (node.type === 'Subshell' || node.type === 'BraceGroup') visit(node.body, forks);
      else if (node.type === 'Redirected') visit(node.command, forks);
      else if (node.type === 'While') visit(node.body, forks);
      else if (node.type === 'If') visit(node.then, forks);
    };
    visit(body, false);
    if (calls.length > 0)
      this.findings.push(destroys(`fork bomb: ${shown(name)} starts itself again and again`));
  }

  private forLoop(node: Extract<SyntaxNode, { type: 'For' }>): void {
    for (const word of node.wordlist ?? []) this.word(word);
    this.findings.push(...assignmentFindings(node.name.value));
    const outer = this.loops.has(node.name.value);
    if (node.wordlist) this.loops.add(node.name.value);
    this.node(node.body);
    if (!outer) this.loops.delete(node.name.value);
  }

  private redirected(node: Extract<SyntaxNode, { type: 'Redirected' }>): void {
    const before = this.input;
    for (const redirect of node.redirects) this.redirect(redirect);
    this.node(node.command);
    this.input = before;
  }

  private redirect(redirect: Parameters<typeof readRedirect>[0]): void {
    if (redirect.type === 'HereDoc') for (const part of redirect.body.parts ?? []) this.part(part);
    else if (redirect.target) this.word(redirect.target);
    const read = readRedirect(redirect, {
      text: (word) => readText(word, this),
      parts: (parts) => readParts(parts, this),
      directories: this.directories,
    });
    this.findings.push(...read.findings);
    if (read.input)
      this.input = {
        ...read.input,
        texts: [...read.input.texts, ...(read.input.from === 'text' ? [] : this.input.texts)],
      };
  }

  private pipeline(commands: readonly SyntaxNode[]): void {
    const before = this.input;
    let texts: string[] = [...before.texts];
    for (const [at, command] of commands.entries()) {
      if (at > 0)
        this.input = { from: 'pipe', texts, output: this.outputOf(commands[at - 1] as SyntaxNode) };
      this.node(command);
      texts = [...texts, ...this.literalsOf(command)].slice(0, 64);
    }
    this.input = before;
  }

  // ── Words and what is in them ──────────────────────────────────────────────────────────────────────────────────────────────

  private word(word: Word): void {
    for (const part of word.parts ?? []) this.part(part);
  }

  private part(part: WordPart): void {
    switch (part.type) {
      case 'CommandExpansion':
        if (!part.script) this.findings.push(changes('a substitution that could not be read'));
        else this.substituted(part.script);
        return;
      case 'ProcessSubstitution':
        if (part.operator === '>')
          this.findings.push(changes('writes into a process substitution'));
        if (!part.script) this.findings.push(changes('a substitution that could not be read'));
        else this.substituted(part.script);
        return;
      case 'DoubleQuoted':
      case 'LocaleString':
        for (const child of part.parts) this.part(child);
        return;
      case 'ArithmeticExpansion':
        this.findings.push(
          ...arithmeticFindings(part.expression, (name) => this.numeric(name), false),
        );
        return this.wordsBelow(part);
      case 'SimpleExpansion':
        this.findings.push(...this.secretVariable(part.text.slice(1)));
        return;
      case 'ParameterExpansion':
        this.findings.push(...this.secretVariable(part.parameter));
        this.findings.push(...parameterFindings(part, (name) => this.numeric(name)));
        return this.wordsBelow(part);
      case 'BraceExpansion':
      case 'Glob':
      case 'ExtendedGlob':
        return this.wordsBelow(part);
      default:
        return;
    }
  }

  private substituted(script: ParsedScript): void {
    const input = this.input;
    this.input = NO_INPUT;
    this.script_(script);
    this.input = input;
  }

  /** Walks into all substitutions below a node that is judged by other rules. */
  private wordsBelow(node: SyntaxNode): void {
    for (const inner of substitutionsBelow(node)) {
      if (inner.script) this.substituted(inner.script);
      else this.findings.push(changes('a substitution that could not be read'));
    }
  }

  /** A variable from outside whose name speaks of a secret. */
  private secretVariable(name: string): Finding[] {
    const secret =
      /PASS|SECRET|TOKEN|KEY|CRED|AUTH|DSN|DATABASE_URL|PRIVATE/.test(name) &&
      !this.values.has(name);
    return secret ? [changes(`uses ${name}, which may hold a secret`)] : [];
  }

  /** True when a variable can only be a whole number. */
  private numeric(name: string): boolean {
    const known = this.values.get(name);
    return (
      known !== undefined &&
      !known.hole &&
      known.texts.length > 0 &&
      known.texts.every((text) => /^-?\d{1,15}$/.test(text))
    );
  }

  // ── Commands ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  private command(command: Command): void {
    const before = this.input;
    const bare = !command.name;
    for (const item of command.prefix) {
      if (item.type === 'Assignment') {
        if (item.value.type === 'Word') this.word(item.value);
        else for (const element of item.value.elements) this.word(element);
        if (item.index) this.findings.push(changes(`assigns to an element of ${item.name}`));
        if (
          item.value.type === 'Word' &&
          item.value.parts?.some((part) => part.type === 'ProcessSubstitution')
        ) {
          this.findings.push(changes('a process substitution in an assignment'));
        }
        this.findings.push(
          ...(bare
            ? assignmentFindings(item.name)
            : prefixFindings(item, command.name?.value ?? '')),
        );
        this.findings.push(...this.suspectAssignment(item.text));
      } else this.redirect(item);
    }
    const words: Word[] = [];
    if (command.name) words.push(command.name);
    for (const item of command.suffix) {
      if (item.type === 'Word') words.push(item);
      else if (item.type === 'Assignment') {
        if (command.name?.value !== 'export') this.findings.push(...assignmentFindings(item.name));
        if (item.value.type === 'Word') this.word(item.value);
        else for (const element of item.value.elements) this.word(element);
        this.findings.push(...this.suspectAssignment(item.text));
        words.push({
          type: 'Word',
          text: item.text,
          value: item.text,
          pos: item.pos,
          end: item.end,
        });
      } else this.redirect(item);
    }
    if (command.name?.parts?.some((part) => part.type === 'BraceExpansion')) {
      this.findings.push(changes(`braces make up the command: ${shown(command.name.text)}`));
    }
    for (const word of words) this.word(word);
    if (words.length > 0) this.combinations(words);
    this.input = before;
  }

  /** An assignment may hold a command for later: `PAGER='rm -rf /' man x`. */
  private suspectAssignment(text: string): Finding[] {
    const value = text.slice(text.indexOf('=') + 1);
    return /\s/.test(value) ? this.suspect([value.replace(/^(['"])([^]*)\1$/, '$2')]) : [];
  }

  private combinations(words: readonly Word[]): void {
    const names = [
      ...new Set(words.flatMap((word) => (word.parts ? variablesIn(word) : []))),
    ].filter(
      (name) => this.values.has(name) && !this.values.get(name)?.hole && !this.bound.has(name),
    );
    const choices = names.map((name) => this.choices(name));
    const total = choices.reduce((product, choice) => product * choice.length, 1);
    if (names.length === 0) return this.words(this.read(words), this.input);
    if (total <= MAX_COMBINATIONS) return this.bind(names, choices, 0, words);
    for (const [at, name] of names.entries())
      this.bind([name], [choices[at] as string[]], 0, words);
  }

  private choices(name: string): string[] {
    const texts = [...(this.values.get(name)?.texts ?? [])];
    return this.loops.has(name) || texts.includes('') ? texts : [...texts, ''];
  }

  private bind(
    names: readonly string[],
    choices: readonly (readonly string[])[],
    at: number,
    words: readonly Word[],
  ): void {
    const name = names[at];
    if (name === undefined) return this.words(this.read(words), this.input);
    for (const value of choices[at] ?? []) {
      this.bound.set(name, value);
      this.bind(names, choices, at + 1, words);
    }
    this.bound.delete(name);
  }

  private read(words: readonly Word[]): Arg[] {
    return words.flatMap((word) => readWord(word, this));
  }

  /** Judges the words of one simple command. */
  words(args: readonly Arg[], input: Input): void {
    if (++this.session.commands > MAX_COMMANDS) {
      if (this.session.commands === MAX_COMMANDS + 1)
        this.findings.push(changes('too many commands to look at'));
      return;
    }
    const [first, ...rest] = args;
    if (!first) return;
    this.findings.push(...this.judge(first, rest, input));
    if (args.some((arg) => arg.guess !== undefined))
      this.findings.push(...this.guessed(args, input));
  }

  private judge(first: Arg, rest: readonly Arg[], input: Input): Finding[] {
    if (!isKnown(first) || first.value === '') {
      return [
        changes(`the command is only known at run time: ${shown(first)}`),
        ...this.suspectWords(rest),
      ];
    }
    const body = this.functions.get(first.value);
    if (body) return this.callFunction(first.value, body, rest, input);
    const path = first.value;
    const name = path.includes('/') ? (path.split('/').at(-1) as string) : path;
    const trusted = path === name || SYSTEM_DIRECTORY.test(path);
    const rule = this.session.registry(name);
    if (!rule)
      return [changes(`${shown(path)} is not known to be read-only`), ...this.suspectWords(rest)];
    const call: Call = { name, args: rest, input };
    const found = [...rule.check(call, this), ...this.shownEnvironment(name)];
    const strange = trusted ? [] : [changes(`${shown(path)} is not in a system directory`)];
    if (found.length === 0) return strange;
    const danger =
      rule.inert || found.some((finding) => finding.risk === 'destructive')
        ? []
        : this.suspectWords(rest);
    return [...strange, ...found, ...danger];
  }

  /** The environment of a container holds its passwords. */
  private shownEnvironment(name: string): Finding[] {
    return this.foreign && /^(env|printenv|export|declare|set)$/.test(name)
      ? [changes(`${name} shows the environment of a container, which may hold passwords`)]
      : [];
  }

  private callFunction(
    name: string,
    body: SyntaxNode,
    args: readonly Arg[],
    input: Input,
  ): Finding[] {
    const called = changes(`calls the function ${shown(name)}`);
    if (this.depth >= MAX_DEPTH || this.session.commands > MAX_COMMANDS) return [called];
    const walk = new Walk(this.session, this.depth + 8, args, input);
    walk.values = this.values;
    walk.node(body);
    return [called, ...walk.findings];
  }

  /** Holes filled with what most likely comes: only danger counts. */
  private guessed(args: readonly Arg[], input: Input): Finding[] {
    const words = args.flatMap((arg) => {
      if (arg.guess === undefined) return [arg];
      return arg.splits
        ? arg.guess
            .split(/\s+/)
            .filter((word) => word !== '')
            .map(literal)
        : [literal(arg.guess)];
    });
    const [first, ...rest] = words;
    if (!first || words.some((word) => word.value.includes(HOLE))) return [];
    return this.nested((walk) => walk.findings.push(...walk.judge(first, rest, input))).filter(
      (finding) => finding.risk === 'destructive',
    );
  }

  /** Words of a command that is not read-only may be a command themselves, or shell source. */
  private suspectWords(args: readonly Arg[]): Finding[] {
    const texts = args
      .map((arg) => arg.value.replaceAll(HOLE, ' '))
      .filter((text) => /[\s;|&$`(<>]/.test(text.trim()));
    const found = texts.length > 0 ? this.suspect(texts) : [];
    for (const [at, arg] of args.entries()) {
      if (at > 40 || !isKnown(arg)) continue;
      if (!/^[\w./+-]+$/.test(arg.value) || arg.value.startsWith('-')) continue;
      const rule = this.session.registry(arg.value.split('/').at(-1) as string);
      if (!rule || rule.inert) continue;
      found.push(
        ...this.argv(args.slice(at), NO_INPUT).filter((finding) => finding.risk === 'destructive'),
      );
    }
    return found;
  }

  // ── What comes out of commands ─────────────────────────────────────────────────────────────────────────────────────────────

  private outputOf(node: SyntaxNode): HoleKind {
    if (node.type === 'Script' && node.commands.length === 1)
      return this.outputOf((node.commands[0] as SyntaxNode & { type: 'Statement' }).command);
    if (node.type === 'Pipeline') return this.pipeOutput(node.commands);
    if (node.type !== 'Command' || !node.name) return { kind: 'any' };
    const [first, ...rest] = this.read([
      node.name,
      ...node.suffix.filter((item) => item.type === 'Word'),
    ]);
    if (!first || !isKnown(first)) return { kind: 'any' };
    const printed = /^(echo|printf)$/.test(first.value) ? staticOutput(node, this) : undefined;
    if (
      printed !== undefined &&
      rest.every(isKnown) &&
      printed
        .trim()
        .split(/\s+/)
        .every((word) => /^[\w@.:+][\w@.:+-]*$/.test(word))
    )
      return { kind: 'id' };
    const rule = this.session.registry(first.value);
    return rule?.output?.({ name: first.value, args: rest, input: NO_INPUT }) ?? { kind: 'any' };
  }

  private pipeOutput(commands: readonly SyntaxNode[]): HoleKind {
    let kind: HoleKind = { kind: 'any' };
    for (const command of commands) {
      const name = command.type === 'Command' ? (command.name?.value ?? '') : '';
      if (
        kind.kind !== 'any' &&
        (FILTERS.has(name) || (kind.kind === 'id' && selectsFields(command)))
      )
        continue;
      kind = this.outputOf(command);
    }
    return kind;
  }

  private literalsOf(node: SyntaxNode): string[] {
    if (node.type !== 'Command')
      return node.type === 'Subshell' || node.type === 'BraceGroup'
        ? literalsBelow(node, this)
        : [];
    const args = this.read([...node.suffix.filter((item) => item.type === 'Word')]);
    const texts = args.map((arg) => arg.guess ?? arg.value);
    const joined = texts.filter((text) => !text.startsWith('-')).join(' ');
    const heres = node.redirects.flatMap((redirect) =>
      redirect.type === 'HereDoc'
        ? [redirect.body.text]
        : redirect.type === 'HereString' && redirect.target
          ? [redirect.target.value]
          : [],
    );
    const printed = staticOutput(node, this);
    return [
      ...(printed === undefined ? [] : [printed]),
      joined,
      ...texts.filter((text) => /\s/.test(text)),
      ...heres,
    ];
  }
}

/** `awk '{print $1}'` and `cut` pick words out of lines and make none up. */
function selectsFields(node: SyntaxNode): boolean {
  if (node.type !== 'Command') return false;
  const words = node.suffix.map((item) => (item.type === 'Word' ? item.value : ''));
  if (node.name?.value === 'awk')
    return words.length === 1 && /^[^"]*\{\s*print\s+\$\d+\s*\}$/.test(words[0] as string);
  return (
    node.name?.value === 'cut' &&
    words.every((word) => /^-(d.|f[\d,-]+|f|d)$|^[\d,-]+$|^.$/.test(word))
  );
}

/** A loop over `read` ends with its input; any other condition may hold for ever. */
function readsInput(clause: SyntaxNode): boolean {
  if (clause.type !== 'CompoundList') return false;
  const last = clause.commands.at(-1)?.command;
  return clause.commands.length === 1 && last?.type === 'Command' && last.name?.value === 'read';
}

/** Filters that hand lines on as they are. */
const FILTERS = new Set(['head', 'tail', 'sort', 'uniq', 'grep', 'tac', 'shuf']);

function literalsBelow(node: SyntaxNode, lookup: Lookup): string[] {
  const text = staticOutput(node, lookup);
  return text === undefined ? [] : [text];
}

function variablesIn(word: Word): string[] {
  const names: string[] = [];
  const visit = (part: WordPart): void => {
    if (part.type === 'SimpleExpansion') names.push(part.text.slice(1));
    else if (part.type === 'ParameterExpansion') names.push(part.parameter);
    else if (part.type === 'DoubleQuoted' || part.type === 'LocaleString')
      for (const child of part.parts) visit(child);
    else if (part.type === 'BraceExpansion')
      for (const name of part.text.match(/(?<=\$\{?)\w+/g) ?? []) names.push(name);
  };
  for (const part of word.parts ?? []) visit(part);
  return names;
}

function substitutionsBelow(
  node: SyntaxNode,
): Extract<WordPart, { type: 'CommandExpansion' | 'ProcessSubstitution' }>[] {
  const found: Extract<WordPart, { type: 'CommandExpansion' | 'ProcessSubstitution' }>[] = [];
  const visit = (child: SyntaxNode): void => {
    if (child.type === 'CommandExpansion' || child.type === 'ProcessSubstitution')
      found.push(child);
    else forEachChild(child, visit);
  };
  forEachChild(node, visit);
  return found;
}

/** A word that stands for what is appended at run time (`xargs`). */
export const APPENDED: Arg = unknownArg();
