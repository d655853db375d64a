/** Danger in text that is not, or not certainly, shell source: crude on purpose, and only ever used to raise a verdict. */
import { destroys, HOLE, isKnown, literal } from '../model.ts';
import type { Arg, Finding } from '../model.ts';
import type { SyntaxNode } from './parse.ts';
import { readWord } from './words.ts';
import type { Lookup } from './words.ts';

/** Program names that a text is searched for. */
const DANGEROUS =
  /^(rm|dd|mkfs(\.\w+)?|mke2fs|mkswap|wipefs|shred|wipe|srm|blkdiscard|fdisk|sfdisk|cfdisk|gdisk|sgdisk|cgdisk|parted|partprobe|pct|qm|pvesm|pvesh|zfs|zpool|lvremove|vgremove|pvremove|lvm|vgreduce|dmsetup|mdadm|cryptsetup|nvme|hdparm|find|unlink|truncate|reboot|shutdown|halt|poweroff|init|telinit|systemctl|iptables|ip6tables|nft|ufw|chmod|chown|chgrp|docker|podman|kubectl|virsh|btrfs|cat|tac|head|tail|less|more|base64|cp|scp|rsync|tee|mv|xxd|od|strings|grep|dropdb|psql|mysql|mariadb|sqlite3|redis-cli|mongo|mongosh|helm|vgcfgrestore|sh|bash|sudo|xargs|badblocks|mkfs|kexec|etcdctl|lxc|incus|terraform|tofu|userdel|deluser|fstrim|sed|awk|perl|python|python3|nsenter|busybox|doas)$/;

/** Statements of SQL that destroy, and the best-known calls of scripting languages that do. */
const TEXT_DANGERS: readonly [RegExp, string][] = [
  [
    /\bdrop\s+(table|database|schema|index|view|tablespace|role|user|collection|keyspace|materialized\s+view|owned)\b/i,
    'drops a database object',
  ],
  [/\btruncate\s+(table\s+)?["'`\w.]+/i, 'truncates a table'],
  [/\bflush(all|db)\b/i, 'empties a Redis database'],
  [
    /\b(rmtree|rm_rf|remove_dir_all|removedirs|remove_entry_secure|rmSync|rmdirSync)\b|\bfs\.(promises\.)?rm\b[^)]*recursive|File::Path|FileUtils\.(rm_r|remove_dir)|deltree|\bRemoveAll\b/,
    'deletes recursively',
  ],
  [/:\s*\(\s*\)\s*\{\s*:\s*\|\s*:?/, 'fork bomb'],
  [
    /\bwhile\s*\(?\s*(1|true|:)\s*\)?\s*[:;{]?\s*(do\s+)?(os\.)?fork\b|\bfork\s*(\(\s*\))?\s*while\b|\bfork\s+until\b/,
    'fork bomb',
  ],
  [
    /\/dev\/(sd[a-z]|nvme\d|vd[a-z]|hd[a-z]|mmcblk\d|xvd[a-z])\w*['"]?\s*,\s*['"](w|a|r\+|\+)|\b(File|IO)\.(bin)?write\W+\/dev\/(sd|nvme|vd|hd|mmcblk|xvd)/,
    'writes to a disk',
  ],
  [
    /open\w*\s*\(?\s*['"][^'"]*(\/etc\/g?shadow|\/\.ssh\/id_(rsa|dsa|ecdsa|ed25519))(?!\.pub)/i,
    'reads a private key or password file',
  ],
  [
    /\bunlink\s*\(?\s*(glob|<)|\bdelete-directory\b|\bos\.(removedirs|rmdir)\b.*\bwalk\b/,
    'deletes many files',
  ],
  [/>\s*\/dev\/(sd|nvme|vd|hd|mmcblk|xvd|mapper|md|dm-)/, 'writes to a disk'],
  [
    /\b(read_text|readFileSync|file_get_contents|slurp|File\.read|IO\.read|readlines)\b[^)]*(\/etc\/g?shadow|id_(rsa|ed25519|ecdsa|dsa)|privkey)/i,
    'reads a private key or password file',
  ],
];

/** Positions that are tried in one text before it counts as too full of danger to tell. */
const MAX_POSITIONS = 4000;

/** Looks for destructive commands anywhere in a text, whatever it is. `judge` judges words as a command. */
export function dangerIn(text: string, judge: (args: readonly Arg[]) => Finding[]): Finding[] {
  const found: Finding[] = TEXT_DANGERS.flatMap(([pattern, reason]) =>
    pattern.test(text) ? [destroys(reason)] : [],
  );
  if (found.length > 0) return found;
  const plain = text
    .replace(/\\\n/g, '')
    .replace(/[\p{Cf}\p{Zs}\r]/gu, (char) => (char.trim() === '' ? ' ' : ''))
    .replace(/\$\{?IFS\}?/g, ' ')
    .replace(/\\(.)/g, '$1')
    .replace(/\$?["']/g, '');
  let tried = 0;
  for (const segment of plain.split(/[;&|\n\r(){}`]+/)) {
    if (!segment.trim()) continue;
    const words = segment
      .split(/[\s,[\]]+/, 3000)
      .map((word) => word.replace(/^[^\w/.~*-]+/, ''))
      .filter((word) => word !== '');
    for (const [at, text] of words.entries()) {
      // `"path":"rm","arg":["-rf","/srv"]`
      const word = text.replace(/^[\w-]+:(?!\/\/)(?=[a-z/])/i, '');
      if (!DANGEROUS.test(word.split('/').at(-1) as string)) continue;
      if (++tried > MAX_POSITIONS) return [destroys('too many dangerous words to look at')];
      const found = [word, ...words.slice(at + 1, at + 48)];
      const hits = judge(found.map(literal)).filter((finding) => finding.risk === 'destructive');
      if (hits.length > 0) return hits;
    }
  }
  return found;
}

/** Texts that a text may stand for: base64, hexadecimal, reversed, rot13. Only plausible source is given back. */
export function decodings(text: string): string[] {
  const out: string[] = [];
  for (const [candidate] of text.matchAll(/[A-Za-z0-9+/_-]{8,}={0,2}/g)) {
    const decoded = Buffer.from(candidate, 'base64').toString('latin1');
    if (/^[\x20-\x7e\n\t]+$/.test(decoded)) out.push(decoded);
    if (/^([0-9a-f]{2})+$/i.test(candidate)) {
      const bytes = Buffer.from(candidate, 'hex').toString('latin1');
      if (/^[\x20-\x7e\n\t]+$/.test(bytes)) out.push(bytes);
    }
    if (out.length > 8) break;
  }
  if (/\\x[0-9a-f]{2}|\\[0-7]{3}/i.test(text)) {
    out.push(
      text
        .replace(/\\x([0-9a-f]{2})/gi, (_, hex: string) =>
          String.fromCharCode(Number.parseInt(hex, 16)),
        )
        .replace(/\\0?([0-7]{3})/g, (_, octal: string) =>
          String.fromCharCode(Number.parseInt(octal, 8)),
        ),
    );
  }
  if (text.length < 400) out.push([...text].reverse().join(''));
  if (text.length < 400 && /^[a-z]{2}\s/.test(text)) out.push(text.replace(/[a-z]/gi, rotate));
  return out;
}

function rotate(letter: string): string {
  const base = letter <= 'Z' ? 65 : 97;
  return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base);
}

/** What `echo` or `printf` of known words prints; undefined for anything else. */
export function staticOutput(node: SyntaxNode, lookup: Lookup): string | undefined {
  if (node.type === 'Script') {
    const only = node.commands.length === 1 ? node.commands[0] : undefined;
    return only ? staticOutput(only.command, lookup) : undefined;
  }
  if (node.type === 'Pipeline') return decodedOutput(node, lookup);
  if (node.type === 'Subshell' || node.type === 'BraceGroup') {
    const only = node.body.commands.length === 1 ? node.body.commands[0] : undefined;
    return only ? staticOutput(only.command, lookup) : undefined;
  }
  if (node.type !== 'Command' || !node.name) return undefined;
  const words = node.suffix.flatMap((item) => (item.type === 'Word' ? readWord(item, lookup) : []));
  const texts = words.map((word) =>
    isKnown(word) ? word.value : (word.guess ?? word.value.replaceAll(HOLE, '')),
  );
  switch (node.name.value) {
    case 'echo':
      return escapes(
        texts.filter((text, at) => at > 0 || !/^-[neE]+$/.test(text)).join(' '),
        texts[0]?.includes('e') ?? false,
      );
    case 'which':
    case 'type':
    case 'command':
      return texts.filter((text) => !text.startsWith('-')).at(-1);
    case 'printf':
      return printed(texts[0] === '--' ? texts.slice(1) : texts);
    case 'cat': {
      const here = node.redirects.find(
        (redirect) => redirect.type === 'HereDoc' || redirect.type === 'HereString',
      );
      return here?.type === 'HereDoc'
        ? here.body.text
        : here?.type === 'HereString'
          ? here.target?.value
          : undefined;
    }
    default:
      return undefined;
  }
}

function decodedOutput(
  node: Extract<SyntaxNode, { type: 'Pipeline' }>,
  lookup: Lookup,
): string | undefined {
  const [first, ...filters] = node.commands;
  const text = first ? staticOutput(first, lookup) : undefined;
  if (text === undefined) return undefined;
  const names = filters.map((filter) =>
    filter.type === 'Command' ? (filter.name?.value ?? '') : '',
  );
  if (
    !names.every((name) =>
      /^(base64|base32|openssl|xxd|rev|tr|cat|head|sed|cut|tac|gunzip|zcat)$/.test(name),
    )
  )
    return undefined;
  return decodings(text.trim())[0] ?? text;
}

function escapes(text: string, on: boolean): string {
  if (!on) return text;
  return text
    .replace(/\\x([0-9a-f]{1,2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
    .replace(/\\0([0-7]{1,3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    )
    .replace(/\\n/g, '\n')
    .replace(/\\t/g, '\t');
}

function printed(texts: readonly string[]): string {
  const [format = '', ...args] = texts;
  let next = 0;
  let out = '';
  const filled = format.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
  do {
    out += escapes(filled, true).replace(/%(?:-?\d*)([sbdqc%])/g, (_, kind: string) =>
      kind === '%' ? '%' : (args[next++] ?? ''),
    );
  } while (next > 0 && next < args.length && next < 64);
  return out;
}
