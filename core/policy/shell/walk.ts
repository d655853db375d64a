/**
 * The walk over a command's tree (P2). Every node says what speaks against read-only; a node that no rule names speaks against
 * it by itself. Commands are looked up in the tables of `commands/`; what they would run in turn comes back here (P3).
 */
import { changes, destroys, endless, NO_INPUT, shown } from '../model.ts';
import type { Arg, Finding, Input } from '../model.ts';
import { assignmentFindings, prefixFindings } from './assignments.ts';
import { arithmeticFindings, testFindings } from './expressions.ts';
import { countsToAnEnd, countsUpAndDown } from './loops.ts';
import { Stores } from './stores.ts';
import { dangerIn } from './literals.ts';
import { isFixed, literalsOf, outputOf } from './outputs.ts';
import { MAX_PARSED_LENGTH, parseShell } from './parse.ts';
import type { Command, Script, SyntaxNode, Word } from './parse.ts';

import type { Session } from './scope.ts';
import { variablesOf } from './variables.ts';
import { isComputed, isForkBomb, leavesRunning, readsInput, wordsOfTest } from './visit.ts';
import { readText } from './words.ts';

/** Judges shell source. No findings means read-only. */
export function walkSource(source: string, session: Session, input: Input = NO_INPUT): Finding[] {
  // Whoever runs the source gives it no parameters; should that change, nothing may depend on it.
  const walk = new Walk(session, 0, undefined, input);
  walk.source(source);
  return walk.findings;
}

/** Most substitutions in one source. Deeply nested ones take the grammar a second. */
const MAX_SUBSTITUTIONS = 150;

/** Why a source is not parsed. */
function tooMuch(source: string): string | undefined {
  if (source.length > MAX_PARSED_LENGTH)
    return `longer than ${MAX_PARSED_LENGTH} characters; not looked into`;
  const substitutions = source.match(/[$<>]\(|`/g)?.length ?? 0;
  return substitutions > MAX_SUBSTITUTIONS ? 'too many substitutions to look into' : undefined;
}

type Node<Type extends SyntaxNode['type']> = Extract<SyntaxNode, { type: Type }>;

class Walk extends Stores {
  protected fork(depth: number, parameters: readonly Arg[] | undefined, input: Input): Walk {
    return new Walk(this.session, depth, parameters, input);
  }

  /** The tree of the source that is walked. */
  private root: SyntaxNode | undefined;

  /** The texts that a variable may have, when there is nothing else that it may have. */
  private readonly texts = (name: string): readonly string[] | undefined => {
    const known = this.values.get(name);
    return known && !known.hole ? known.texts : undefined;
  };

  source(source: string): void {
    const searched = (): Finding[] => dangerIn(source, (args) => this.danger(args));
    const unread = tooMuch(source);
    if (unread !== undefined) return this.note(changes(unread), ...searched());
    const { script, fault } = parseShell(source);
    if (fault !== undefined) {
      this.note(changes(`the shell grammar does not accept it: ${fault}`), ...searched());
    }
    this.root = script;
    this.values = variablesOf(
      script,
      (inner) => this.substitution(inner),
      (node) => outputOf(node, this.session.registry, this),
    );
    this.statements(script);
  }

  protected statements(script: Script & { errors?: readonly unknown[] | undefined }): void {
    if (script.errors?.length) this.note(changes('the shell grammar does not accept a part of it'));
    for (const statement of script.commands) this.node(statement);
  }

  protected node(node: SyntaxNode): void {
    switch (node.type) {
      case 'Script':
        return this.statements(node);
      case 'Statement':
        if (node.background) this.background(node);
        return this.node(node.command);
      case 'CompoundList':
      case 'AndOr':
        for (const command of node.commands) this.node(command);
        return;
      case 'Pipeline':
        return this.pipeline(node);
      case 'Command':
        return this.command(node);
      case 'Redirected':
        return this.redirected(node);
      case 'Subshell':
      case 'BraceGroup':
        return this.node(node.body);
      case 'If':
        return this.branches(node);
      case 'While':
        return this.whileLoop(node);
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
        this.note(...testFindings(node.expression, (word) => readText(word, this)));
        for (const word of wordsOfTest(node.expression)) this.word(word);
        return;
      case 'ArithmeticCommand':
        this.note(...arithmeticFindings(node.expression, this.numbers, true));
        return this.wordsBelow(node);
      default:
        return this.neverReading(node);
    }
  }

  /** A command left running; a script that leaves itself running multiplies. */
  private background(node: Node<'Statement'>): void {
    this.note(changes('leaves a command running in the background'));
    const first = node.command.type === 'Pipeline' ? node.command.commands[0] : node.command;
    const name = first?.type === 'Command' ? (first.name?.text ?? '') : '';
    if (/^"?\$\{?0\}?"?$/.test(name)) this.note(destroys('fork bomb: the script starts itself'));
  }

  /** Syntax that is never read-only, but whose inside may be worse. */
  private neverReading(node: SyntaxNode): void {
    switch (node.type) {
      case 'ArithmeticFor':
        if (!countsUpAndDown(node, this.texts))
          this.note(changes('computes with variables in a loop that may never end'));
        for (const inner of [node.initialize, node.test, node.update]) {
          if (inner) this.note(...arithmeticFindings(inner, this.numbers, true));
          if (inner) this.wordsBelow({ ...inner, type: 'ArithmeticGroup', expression: inner });
        }
        return this.node(node.body);
      case 'Function':
        this.note(changes(`defines a function: ${shown(node.name.value)}`));
        this.functions.set(node.name.value, node.body);
        if (isForkBomb(node.name.value, node.body)) {
          this.note(destroys(`fork bomb: ${shown(node.name.value)} starts itself again and again`));
        }
        return this.node(node.body);
      case 'Coproc':
        this.note(changes('starts a coprocess'));
        return this.node(node.body);
      case 'Select':
        this.note(changes('asks with select'));
        for (const word of node.wordlist ?? []) this.word(word);
        return this.node(node.body);
      default:
        this.note(changes(`shell syntax that no rule names: ${node.type}`));
        return this.wordsBelow(node);
    }
  }

  private branches(node: Node<'If'>): void {
    for (const branch of [node, ...node.elif]) {
      this.node(branch.clause);
      this.node(branch.then);
    }
    if (node.else) this.node(node.else);
  }

  private whileLoop(node: Node<'While'>): void {
    const before = this.input;
    const overInput = readsInput(node.clause);
    if (!overInput && !countsToAnEnd(node, this.root ?? node, this.texts))
      this.note(endless('a loop without a bound repeats'));
    if (!overInput && leavesRunning(node.body))
      this.note(destroys('fork bomb: a loop leaves commands running without waiting for any'));
    this.node(node.clause);
    if (overInput) this.input = { ...this.input, rest: true };
    this.node(node.body);
    this.input = before;
  }

  private forLoop(node: Node<'For'>): void {
    const name = node.name.value;
    for (const word of node.wordlist ?? []) this.word(word);
    this.note(...assignmentFindings(name));
    const outer = this.loops.has(name);
    if (node.wordlist) this.loops.add(name);
    this.node(node.body);
    if (!outer) this.loops.delete(name);
  }

  private redirected(node: Node<'Redirected'>): void {
    const before = this.input;
    for (const redirect of node.redirects) this.redirect(redirect);
    this.node(node.command);
    this.input = before;
  }

  private pipeline(node: Node<'Pipeline'>): void {
    const before = this.input;
    let texts = [...before.texts];
    for (const [at, command] of node.commands.entries()) {
      if (at > 0) {
        const front = { ...node, commands: node.commands.slice(0, at) };
        const fixed = at === 1 && isFixed(node.commands[0] as SyntaxNode, this);
        const output = outputOf(front, this.session.registry, this);
        this.input = { from: 'pipe', texts, output, ...(fixed ? { fixed } : {}) };
      }
      this.node(command);
      texts = [...texts, ...literalsOf(command, this)].slice(0, 64);
    }
    this.input = before;
  }

  private command(command: Command): void {
    const before = this.input;
    const feeds = this.feeds;
    this.feeds = [];
    const name = command.name?.value;
    for (const item of command.prefix) {
      if (item.type !== 'Assignment') this.redirect(item);
      else {
        this.assigned(item);
        this.note(
          ...(name === undefined ? assignmentFindings(item.name) : prefixFindings(item, name)),
        );
      }
    }
    const words: Word[] = command.name ? [command.name] : [];
    for (const item of command.suffix) {
      if (item.type === 'Word') words.push(item);
      else if (item.type === 'Assignment') {
        if (name !== 'export') this.note(...assignmentFindings(item.name));
        this.assigned(item);
        words.push({ ...item, type: 'Word', value: item.text });
      } else this.redirect(item);
    }
    if (isComputed(command.name))
      this.note(changes(`the command is computed: ${shown(command.name?.text ?? '')}`));
    for (const word of words) this.word(word);
    if (this.feeds.length > 0) {
      this.input = { ...this.input, texts: [...this.input.texts, ...this.feeds] };
    }
    this.remember(command);
    if (words.length > 0) this.combinations(words);
    if (name === 'set') this.setsParameters(words);
    this.input = before;
    this.feeds = feeds;
  }
}
