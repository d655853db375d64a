import { isNoSecret } from './names.ts';
import type { Range } from './ranges.ts';

interface Options {
  /** Options with the secret glued to them: `-pSECRET`. */
  readonly glued?: readonly string[];
  /** Options with the secret in the next word. */
  readonly next?: readonly string[];
  /** Options whose next word is `user:secret`. */
  readonly pair?: readonly string[];
  /** Which plain word, from 0, is the secret. */
  readonly word?: number;
}

const MYSQL: Options = { glued: ['-p'] };
const MONGO: Options = { next: ['-p'], glued: ['-p'] };

/** Programs that take a secret by an option whose name does not say so. From their manuals. */
const PROGRAMS: Readonly<Record<string, Options>> = {
  mysql: MYSQL,
  mysqldump: MYSQL,
  mysqladmin: MYSQL,
  mysqlcheck: MYSQL,
  mysqlimport: MYSQL,
  mysqlshow: MYSQL,
  mariadb: MYSQL,
  'mariadb-dump': MYSQL,
  'mariadb-admin': MYSQL,
  'mariadb-check': MYSQL,
  mongo: MONGO,
  mongosh: MONGO,
  mongodump: MONGO,
  mongorestore: MONGO,
  sshpass: { next: ['-p'], glued: ['-p'] },
  'redis-cli': { next: ['-a'] },
  'valkey-cli': { next: ['-a'] },
  curl: { pair: ['-u', '--user', '-U', '--proxy-user'], glued: ['-u', '-U'] },
  ldapsearch: { next: ['-w'] },
  ldapadd: { next: ['-w'] },
  ldapmodify: { next: ['-w'] },
  ldapwhoami: { next: ['-w'] },
  ipmitool: { next: ['-P'] },
  smbclient: { pair: ['-U', '--user'] },
  zip: { next: ['-P'] },
  unzip: { next: ['-P'] },
  '7z': { glued: ['-p'] },
  '7za': { glued: ['-p'] },
  snmpwalk: { next: ['-A', '-X', '-c'] },
  snmpget: { next: ['-A', '-X', '-c'] },
  htpasswd: { word: 2 },
};

const NAMES = Object.keys(PROGRAMS).map((name) => name.replace(/[-.]/g, '\\$&'));
const CALL = new RegExp(`(?<![A-Za-z0-9_.-])(${NAMES.join('|')})(?=[ \\t])`, 'g');
const LOGIN = /(?<![A-Za-z0-9_.-])(?:docker|podman|helm registry|oc|az) login(?=[ \t])/g;
const WORD =
  /[ \t]{1,64}(?:\\\n[ \t]{0,64})?((?:[^\s'"\\;|&]|\\.|'[^'\n]{0,4096}'|"(?:[^"\\\n]|\\.){0,4096}")+)/y;
const OPENSSL = /(\s-(?:passin|passout|pass|password)[ \t]{1,8}pass:)([^\s;|&]{1,512})/g;
const CHPASSWD =
  /(\becho[ \t]{1,8}(?:-[en]{1,2}[ \t]{1,8})?["']?[\w.-]{1,64}:)([^\s"'|]{1,512})(?=["']?[ \t]{0,8}\|[^\n]{0,32}\bchpasswd\b)/g;
/** Words of one call that are looked at. */
const MOST_WORDS = 200;

/** Secrets in the arguments of programs that are known to take them there. */
export function programRanges(text: string): Range[] {
  const found: Range[] = [];
  let done = 0;
  for (const match of text.matchAll(CALL)) {
    if (match.index < done) continue;
    const options = PROGRAMS[match[1] ?? ''];
    if (options !== undefined) done = readCall(text, match.index + match[0].length, options, found);
  }
  done = 0;
  for (const match of text.matchAll(LOGIN)) {
    if (match.index < done) continue;
    done = readCall(text, match.index + match[0].length, { next: ['-p'] }, found);
  }
  for (const pattern of [OPENSSL, CHPASSWD]) {
    for (const match of text.matchAll(pattern)) {
      const start = match.index + (match[1]?.length ?? 0);
      found.push({ start, end: start + (match[2]?.length ?? 0) });
    }
  }
  return found;
}

/** Reads the words of one call; returns where it ends. */
function readCall(text: string, from: number, options: Options, found: Range[]): number {
  let at = from;
  let plain = 0;
  let expects: 'next' | 'pair' | null = null;
  for (let count = 0; count < MOST_WORDS; count += 1) {
    WORD.lastIndex = at;
    const match = WORD.exec(text);
    if (match === null) break;
    const word = match[1] ?? '';
    const end = at + match[0].length;
    const start = end - word.length;
    at = end;
    if (expects !== null) {
      addSecret(text, start, end, expects === 'pair', found);
      expects = null;
    } else if (options.next?.includes(word) === true) expects = 'next';
    else if (options.pair?.includes(word) === true) expects = 'pair';
    else if (!word.startsWith('-')) {
      if (options.word === plain) addSecret(text, start, end, false, found);
      plain += 1;
    } else {
      const flag = options.glued?.find(
        (option) => word.startsWith(option) && word.length > option.length,
      );
      if (flag !== undefined)
        addSecret(text, start + flag.length, end, options.pair !== undefined, found);
    }
  }
  return at;
}

function addSecret(text: string, start: number, end: number, pair: boolean, found: Range[]): void {
  const word = text.slice(start, end);
  const quote = /^["']/.test(word) && word.endsWith(word.charAt(0)) && word.length > 1 ? 1 : 0;
  const to = end - quote;
  let from = start + quote;
  if (pair) {
    const colon = /[:%]/.exec(text.slice(from, to));
    if (colon === null) return;
    from += colon.index + 1;
  }
  if (!isNoSecret(text.slice(from, to))) found.push({ start: from, end: to });
}
