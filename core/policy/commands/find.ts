/** find: what it only looks for, what it runs, and what it deletes. */
import { changes, destroys, mayBeOption, shown } from '../model.ts';
import type { Arg, Call, Check, Finding } from '../model.ts';
import { patternOf } from '../paths.ts';
import type { Table } from './rules.ts';

/** Predicates of find that only look; with how many words they take. */
const FIND: Readonly<Record<string, number>> = Object.fromEntries([
  ...'-H -L -P -daystart -depth -follow -help -ignore_readdir_race -mount -noignore_readdir_race -noleaf -nowarn -warn -version -xdev -empty -executable -false -nogroup -nouser -readable -true -writable -print -print0 -ls -prune -quit -not -a -and -o -or ! ( ) ,'
    .split(' ')
    .map((name) => [name, 0]),
  ...'-maxdepth -mindepth -regextype -amin -anewer -atime -cmin -cnewer -context -ctime -fstype -gid -group -ilname -iname -inum -ipath -iregex -iwholename -links -lname -mmin -mtime -name -newer -path -perm -regex -samefile -size -type -uid -used -user -wholename -xtype -printf'
    .split(' ')
    .map((name) => [name, 1] as const),
  ...'aBcm'.split('').flatMap((a) => 'aBcmt'.split('').map((b) => [`-newer${a}${b}`, 1] as const)),
]);

const find: Check = (call, shell) => {
  const found: Finding[] = [];
  const roots: Arg[] = [];
  let expression = false;
  for (let at = 0; at < call.args.length; at++) {
    const arg = call.args[at] as Arg;
    const word = arg.value;
    if (/^-(exec|execdir|ok|okdir)$/.test(word)) {
      const end = call.args.findIndex(
        (other, place) =>
          place > at &&
          (other.value === ';' || (other.value === '+' && call.args[place - 1]?.value === '{}')),
      );
      const stop = end < 0 ? call.args.length : end;
      found.push(...foundFiles(call.args.slice(at + 1, stop), roots, call, shell));
      if (word.startsWith('-ok')) found.push(changes(`find ${word} asks and runs`));
      at = stop;
      expression = true;
      continue;
    }
    if (word === '-delete') {
      found.push(
        destroys(`find -delete deletes recursively below ${roots.map(shown).join(' ') || '.'}`),
      );
    } else if (!expression && !/^[-(!,]/.test(word)) roots.push(arg);
    else if (FIND[word] !== undefined && !arg.splits) {
      expression = true;
      const takes = FIND[word];
      if (
        call.args
          .slice(at + 1, at + 1 + takes)
          .some((value) => value.splits && value.holes.some((hole) => hole.kind === 'any'))
      ) {
        found.push(changes(`find: the value of ${word} may turn into several words`));
      }
      at += takes;
    } else if (/^-O\d$/.test(word)) continue;
    else found.push(changes(`find: ${shown(arg)} is not known to be harmless`));
  }
  const open = roots.find((root) => mayBeOption(root));
  return open ? [...found, changes(`find: ${shown(open)} may turn into an action`)] : found;
};

/** A command that find runs: `{}` is any file below the roots that has one of the names asked for. */
function foundFiles(
  words: readonly Arg[],
  roots: readonly Arg[],
  call: Call,
  shell: Parameters<Check>[1],
): Finding[] {
  const patterns = producedBy(call, roots);
  const filled = words.map((arg) =>
    arg.value.includes('{}')
      ? {
          ...arg,
          value: arg.value.replaceAll('{}', '\0'),
          holes: [...arg.holes, { kind: 'paths' as const, patterns }],
          guess: arg.value,
        }
      : arg,
  );
  return shell.argv(filled, { from: 'none', texts: [], output: { kind: 'any' } });
}

/** Patterns of the paths that a find prints: what is below its roots, and a root itself when it fits. */
function producedBy(call: Call, roots: readonly Arg[]): string[] {
  const at = call.args.findIndex((arg) => /^-i?name$/.test(arg.value));
  const others = call.args.some((arg) => /^(-o|-or|!|-not|,)$/.test(arg.value));
  const name = at >= 0 && !others ? (call.args[at + 1]?.value ?? '*') : '*';
  return (roots.length > 0 ? roots.map((root) => root.value) : ['.']).flatMap((root) => {
    const below = `${root.replace(/\/$/, '')}/**/${name}`;
    const last = root.replace(/\/+$/, '').split('/').at(-1) ?? '';
    return name === '*' || (last !== '' && patternOf(name).test(last)) ? [root, below] : [below];
  });
}

export const findTable: Table = {
  find: {
    check: find,
    output: (call) => ({
      kind: 'paths',
      patterns: producedBy(
        call,
        call.args.filter(
          (arg, at) =>
            !/^[-(!]/.test(arg.value) &&
            call.args.slice(0, at).every((before) => !/^[-(!]/.test(before.value)),
        ),
      ),
    }),
  },
};
