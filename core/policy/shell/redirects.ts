/** Redirections: only reading ordinary files, /dev/null and moving descriptors about are read-only. */
import { changes, HOLE, isKnown, isOpen, shown } from '../model.ts';
import type { Arg, Finding, Input } from '../model.ts';
import { overwriting, reading } from '../paths.ts';
import type { Redirection, Word, WordPart } from './parse.ts';

interface Reader {
  text(word: Word): Arg;
  parts(parts: readonly WordPart[]): Arg;
  directories: ReadonlySet<string>;
}

/** What a redirection does, and what becomes of the standard input. */
export interface Redirected {
  findings: Finding[];
  input: Input | undefined;
}

/** Judges one redirection. */
export function readRedirect(redirect: Redirection, reader: Reader): Redirected {
  const variable = redirect.descriptor?.type === 'FileDescriptorVariable';
  const findings: Finding[] = variable ? [changes('opens a file under a descriptor variable')] : [];
  if (redirect.type === 'HereDoc') {
    if (!redirect.closing) findings.push(changes('a here-document without an end'));
    const body =
      redirect.body.parts && !redirect.delimiter?.quoted
        ? reader.parts(redirect.body.parts)
        : undefined;
    const text = body ? (body.guess ?? body.value) : redirect.body.text;
    return { findings, input: { from: 'text', texts: [text], output: { kind: 'any' } } };
  }
  if (!redirect.target)
    return { findings: [...findings, changes('a redirection without a target')], input: undefined };
  const target = reader.text(redirect.target);
  if (redirect.type === 'HereString') {
    return {
      findings,
      input: { from: 'text', texts: [target.guess ?? target.value], output: { kind: 'any' } },
    };
  }
  const read = plain(redirect.operator, target, reader.directories);
  return { findings: [...findings, ...read.findings], input: read.input };
}

function plain(operator: string, target: Arg, directories: ReadonlySet<string>): Redirected {
  const path = target.value;
  if ((operator === '<&' || operator === '>&') && /^(\d+-?|-)$/.test(path))
    return { findings: [], input: undefined };
  const network = /^\/dev\/(tcp|udp)\//.test(path)
    ? [changes(`opens a network connection: ${shown(path)}`)]
    : [];
  if (operator === '<') {
    const opened = isKnown(target) ? [] : openedUnknown(target);
    return {
      findings: [...network, ...opened, ...reading(target, directories)],
      input: {
        from: path === '/dev/null' ? 'none' : 'file',
        texts: [],
        file: target,
        output: { kind: 'any' },
      },
    };
  }
  if (isKnown(target) && /^\/dev\/(null|stdout|stderr)$/.test(path) && operator !== '<&')
    return { findings: [], input: undefined };
  const append = operator === '>>' || operator === '&>>' || operator === '<>';
  return {
    findings: [...network, overwriting(`the redirection ${operator}`, target, append)],
    input: undefined,
  };
}

function openedUnknown(target: Arg): Finding[] {
  const narrow = target.holes.every((hole) => !isOpen(hole)) && !target.value.includes(`..`);
  return narrow && !target.glob && (target.value !== HOLE || target.holes[0]?.kind === 'paths')
    ? []
    : [changes(`reads a file whose name is only known at run time: ${shown(target)}`)];
}
