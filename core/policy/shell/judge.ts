/** Judging one simple command: which program it is, what its table says, and what it would run in turn (P3). */
import { changes, HOLE, isKnown, literal, NO_INPUT, shown, withoutVerb } from '../model.ts';
import type { Arg, Call, Finding, Input, Shell } from '../model.ts';
import { patternOf } from '../paths.ts';
import { dangerIn, decodings } from './literals.ts';
import { keysHandedTo } from './handed-keys.ts';
import { MAX_PARSED_LENGTH } from './parse.ts';
import type { SyntaxNode, Word } from './parse.ts';
import { MAX_DEPTH, Scope } from './scope.ts';
import { variablesIn } from './visit.ts';
import { readWord } from './words.ts';

/** Most commands that one verdict looks at; what is beyond is not read-only. */
const MAX_COMMANDS = 1500;
/** Most combinations of variables' values that one command is judged with. */
const MAX_COMBINATIONS = 64;

const SYSTEM_DIRECTORY = /^\/(usr\/(local\/)?)?s?bin\/([^/]+)$/;

/** Programs that a pattern in place of a command is tried with. */
const WRECKERS =
  'rm dd mkfs mkfs.ext4 shred wipefs find fdisk sfdisk parted zfs zpool pct qm reboot shutdown halt poweroff chmod chown cat iptables docker kubectl psql lvremove'.split(
    ' ',
  );

const isDestructive = (finding: Finding): boolean => finding.risk === 'destructive';

/** The half of the walk that looks at commands. The other half, which looks at the tree, is the walk itself. */
export abstract class Judge extends Scope implements Shell {
  /** Looks at a source text, or at a node of the tree. */
  abstract source(source: string): void;
  protected abstract node(node: SyntaxNode): void;
  /** A walk of the same verdict with fresh variables. */
  protected abstract fork(
    depth: number,
    parameters: readonly Arg[] | undefined,
    input: Input,
  ): Judge;

  argv(args: readonly Arg[], input: Input): Finding[] {
    return this.nested((walk) => walk.words(args, input));
  }

  script(source: Arg, positional: readonly Arg[], input: Input, name?: Arg): Finding[] {
    return this.nested((walk) => {
      walk.parameters = positional;
      walk.zero = name;
      walk.input = input;
      if (isKnown({ ...source, glob: false })) return walk.source(source.value);
      const texts = [source.guess ?? '', ...input.texts, source.value.replaceAll(HOLE, ' ')];
      walk.findings.push(changes(`the script is only known at run time: ${shown(source)}`));
      walk.findings.push(...this.suspect(texts));
    });
  }

  suspect(texts: readonly string[]): Finding[] {
    return texts.flatMap((text) => {
      if (text.trim() === '' || text.length > MAX_PARSED_LENGTH) return [];
      return this.once(`text ${text}`, (walk) => {
        for (const candidate of [text, ...decodings(text)]) {
          walk.source(candidate);
          walk.findings.push(...dangerIn(candidate, (args) => walk.danger(args)));
        }
      });
    });
  }

  /** Only what is destructive about running some words. */
  protected danger(args: readonly Arg[]): Finding[] {
    const key = args.map((arg) => arg.guess ?? arg.value).join('\u0001');
    return this.once(`words ${key}`, (walk) => walk.words(args, NO_INPUT));
  }

  /** Danger that is looked for once for each text; while that goes on, the same text has nothing to add. */
  private once(key: string, look: (walk: Judge) => void): Finding[] {
    const known = this.session.suspected.get(key);
    if (known) return [...known];
    this.session.suspected.set(key, []);
    const found = this.nested((walk) => {
      walk.guessing = true;
      look(walk);
    }).filter(isDestructive);
    this.session.suspected.set(key, found);
    return found;
  }

  inside(): Shell {
    const walk = this.fork(this.depth, undefined, NO_INPUT);
    walk.foreign = true;
    walk.away = true;
    walk.guessing = this.guessing;
    return walk;
  }

  elsewhere(): Shell {
    const walk = this.fork(this.depth, undefined, NO_INPUT);
    walk.foreign = this.foreign;
    walk.away = true;
    walk.guessing = this.guessing;
    return walk;
  }

  private nested(run: (walk: Judge) => void): Finding[] {
    if (this.depth >= MAX_DEPTH) return [changes('nested too deep to be followed')];
    const walk = this.fork(this.depth + 1, undefined, NO_INPUT);
    walk.foreign = this.foreign;
    walk.away = this.away;
    walk.guessing = this.guessing;
    run(walk);
    return walk.findings;
  }

  /** Judges a command with every combination of its variables' values. */
  protected combinations(words: readonly Word[]): void {
    const used = new Set(words.flatMap((word) => (word.parts ? variablesIn(word) : [])));
    const names = [...used].filter((name) => {
      const known = this.values.get(name);
      return known !== undefined && !known.hole && !this.bound.has(name);
    });
    const at = words[0]?.pos ?? 0;
    const choices = names.map((name) => this.choices(name, at));
    const total = choices.reduce((product, choice) => product * choice.length, 1);
    if (total <= MAX_COMBINATIONS) return this.bind(names, choices, 0, words);
    for (const [index, name] of names.entries()) {
      this.bind([name], [choices[index] ?? []], 0, words);
    }
  }

  private bind(
    names: readonly string[],
    choices: readonly (readonly string[])[],
    at: number,
    words: readonly Word[],
  ): void {
    const name = names[at];
    if (name === undefined) {
      const args = words.flatMap((word) => readWord(word, this));
      return this.words(args, this.input);
    }
    for (const value of choices[at] ?? []) {
      this.bound.set(name, value);
      this.bind(names, choices, at + 1, words);
    }
    this.bound.delete(name);
  }

  /** Judges the words of one simple command. */
  words(args: readonly Arg[], input: Input): void {
    if (++this.session.commands > MAX_COMMANDS) {
      if (this.session.commands === MAX_COMMANDS + 1) {
        this.findings.push(changes('too many commands to look at'));
      }
      return;
    }
    const [first, ...rest] = args;
    if (!first) return;
    this.findings.push(...this.judge(first, rest, input));
    const open = args.some((arg) => arg.guess !== undefined);
    if (open) this.findings.push(...this.guessed(args, input));
  }

  private judge(first: Arg, rest: readonly Arg[], input: Input): Finding[] {
    if (!isKnown(first) || first.value === '') {
      const unknown = changes(`the command is only known at run time: ${shown(first)}`);
      return [unknown, ...this.suspectWords(rest), ...this.globbed(first, rest)];
    }
    const body = this.functions.get(first.value);
    if (body) return this.callFunction(first.value, body, rest, input);
    const path = first.value;
    const name = path.split('/').at(-1) as string;
    const rule = this.session.registry(name);
    if (!rule) {
      const known = this.suspect(this.written(path));
      if (path.includes('/') && !SYSTEM_DIRECTORY.test(path)) this.runs(first, '');
      return [
        changes(`${shown(path)} is not known to be read-only`),
        ...known,
        ...keysHandedTo({ name, args: rest, input }, this.directories),
        ...this.suspectWords(rest),
      ];
    }
    const strange = path === name || SYSTEM_DIRECTORY.test(path) ? [] : this.strange(first);
    const call: Call = { name, args: rest, input };
    const found = [...rule.check(call, this), ...this.shownEnvironment(call)];
    const searched = found.length > 0 && !found.some(isDestructive);
    return [
      ...strange,
      ...found,
      ...(searched ? keysHandedTo({ name, args: rest, input }, this.directories) : []),
      ...(searched && !rule.inert ? this.suspectWords(rule.verbs ? withoutVerb(rest) : rest) : []),
    ];
  }

  /** A program of a known name in an unknown place. */
  private strange(program: Arg): Finding[] {
    this.runs(program, '');
    return [
      changes(`${shown(program)} is not in a system directory`),
      ...this.suspect(this.written(program.value)),
    ];
  }

  /** `/bin/r? -rf /`: a pattern may find a program that destroys. */
  private globbed(first: Arg, rest: readonly Arg[]): Finding[] {
    const last = first.value.split('/').at(-1) as string;
    if (!first.glob || last.includes(HOLE) || !/[a-z]/.test(last)) return [];
    const pattern = patternOf(last);
    const names = WRECKERS.filter((name) => pattern.test(name));
    return names.flatMap((name) => this.danger([literal(name), ...rest]));
  }

  /** The environment of a container holds its passwords. `env` shows it only when it runs nothing. */
  private shownEnvironment({ name, args }: Call): Finding[] {
    const taken = /^(-u|-C|--unset|--chdir)$/;
    const words = args.filter((_, at) => !taken.test(args[at - 1]?.value ?? ''));
    const runs = name === 'env' && words.some((arg) => !/^-|=/.test(arg.value));
    const prints =
      /^(env|printenv|export|declare|set)$/.test(name) ||
      (/^(caddy|php)$/.test(name) && /^(environ|-i)$/.test(args[0]?.value ?? ''));
    return this.foreign && !runs && prints
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
    const walk = this.fork(this.depth + 8, args, input);
    walk.values = this.values;
    walk.away = this.away;
    walk.guessing = this.guessing;
    walk.node(body);
    return [called, ...walk.findings];
  }

  /** Holes filled with what most likely comes: only danger counts. */
  private guessed(args: readonly Arg[], input: Input): Finding[] {
    const words = args.flatMap((arg) => {
      if (arg.guess === undefined) return [arg];
      if (!arg.splits) return [literal(arg.guess)];
      const parts = arg.guess.split(/\s+/).filter((word) => word !== '');
      return parts.map(literal);
    });
    const [first, ...rest] = words;
    if (!first || words.some((word) => word.value.includes(HOLE))) return [];
    return this.nested((walk) => {
      walk.guessing = true;
      walk.findings.push(...walk.judge(first, rest, input));
    }).filter(isDestructive);
  }

  /** Words of a command that is not read-only may be a command themselves, or shell source. */
  private suspectWords(args: readonly Arg[]): Finding[] {
    const texts = args
      .map((arg) => arg.value.replaceAll(HOLE, ' '))
      .filter((text) => /[\s;|&$`(<>{]/.test(text.trim()));
    const found = texts.length > 0 ? this.suspect(texts) : [];
    for (const [at, arg] of args.slice(0, 40).entries()) {
      if (!isKnown(arg) || !/^[\w./+][\w./+-]*$/.test(arg.value)) continue;
      const rule = this.session.registry(arg.value.split('/').at(-1) as string);
      if (!rule || rule.inert) continue;
      found.push(...this.danger(args.slice(at)));
    }
    return found;
  }
}
