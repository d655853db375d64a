/** Paths that matter to the verdict: what is secret, what is a device, what is the system's root. */
import { changes, destroys, HOLE, isOpen, shown } from './model.ts';
import type { Arg, Finding } from './model.ts';
import { normalise } from './normal-path.ts';
import { EXAMPLES, secrecyOf } from './secrets.ts';
import type { Secrecy } from './secrets.ts';

/** A shell pattern as an expression for whole paths; `**` crosses directories. Holes stand for one name. */
export function patternOf(glob: string): RegExp {
  let source = '';
  for (let at = 0; at < glob.length; at++) {
    const char = glob[at] as string;
    if (char === HOLE) source += '[^/]*';
    else if (glob.startsWith('/**/', at)) {
      source += '/(.*/)?';
      at += 3;
    } else if ('*?['.includes(char)) {
      const close = char === '[' ? glob.indexOf(']', at + 2) : -1;
      if (at === 0 || glob[at - 1] === '/') source += '(?!\\.)';
      source += char === '*' ? '[^/]*' : char === '[' && close < 0 ? '\\[' : '[^/]';
      if (close >= 0) at = close;
    } else source += char.replace(/[.+^${}()|\\\]]/g, '\\$&');
  }
  return new RegExp(`^${source}$`);
}

/** What a path word would give away if its contents were read. `directories`: what relative paths start from. */
export function reading(arg: Arg, directories: ReadonlySet<string>): Finding[] {
  return candidates(arg.value, directories).flatMap((path) => readingPath(path, arg));
}

function candidates(value: string, directories: ReadonlySet<string>): string[] {
  if (/^[/~]/.test(value)) return [value];
  return [value, ...[...directories].map((directory) => `${directory}/${value}`)];
}

function readingPath(path: string, arg: Arg): Finding[] {
  const clean = normalise(path);
  const open = clean.includes(HOLE) || arg.glob;
  const wide = /^\.?\.?\/?\*\*\//.test(path);
  const direct = secrecyOf(clean);
  const wider = open ? globHits(clean, arg) : undefined;
  const hit = [direct, wider].includes('key') ? 'key' : (direct ?? wider);
  const named = direct === 'key' || /^(id_|ssh_host_)/.test(clean.split('/').at(-1) ?? '');
  if (hit && wide && !named) return [changes(`may read passwords or keys: ${shown(path)}`)];
  if (hit === 'key') return [destroys(`reads a private key or password file: ${shown(path)}`)];
  if (hit === 'secret')
    return [destroys(`reads a file that holds passwords or tokens: ${shown(path)}`)];
  if (hit === 'private')
    return [changes(`reads a file that may hold passwords or tokens: ${shown(path)}`)];
  if (isDevice(clean)) return [changes(`opens a device: ${shown(path)}`)];
  if (/^\/proc\/(?!self\/)[^/]+\/(task\/[^/]+\/)?(fd|map_files)\/./.test(clean))
    return [changes(`reads a file that another process has open: ${shown(path)}`)];
  return [];
}

/** Examples of secrets that a pattern would match. What is wholly open is a finding of its own, not one of these. */
function globHits(pattern: string, arg: Arg): Secrecy | undefined {
  if (!arg.glob && !arg.holes.every((hole) => hole.kind === 'id' || hole.kind === 'name'))
    return undefined;
  if (arg.holes.some(isOpen)) return undefined;
  const expression = patternOf(pattern);
  const hits = EXAMPLES.filter((path) => expression.test(path)).map(secrecyOf);
  if (pattern.includes(HOLE)) return hits.length > 0 ? 'private' : undefined;
  return hits.includes('key')
    ? 'key'
    : hits.includes('secret')
      ? 'secret'
      : hits.length > 0
        ? 'private'
        : undefined;
}

/** What reading a whole directory tree would give away; `name` narrows the files by a pattern on their last part. */
export function readingTree(
  root: string,
  directories: ReadonlySet<string>,
  name?: string,
): Finding[] {
  const last = name === undefined ? undefined : patternOf(name);
  for (const path of candidates(root, directories)) {
    const clean = normalise(path);
    if (clean === '' || clean === '.') continue;
    const direct = secrecyOf(clean);
    const below = clean === '/' ? '/' : `${clean}/`;
    const expression = patternOf(`${below.replace(/\/$/, '')}/**/${HOLE}`);
    const hits = EXAMPLES.filter(
      (example) =>
        expression.test(example) && (!last || last.test(example.split('/').at(-1) as string)),
    ).map(secrecyOf);
    if (direct === 'key' || hits.includes('key'))
      return [destroys(`reads private keys or password files below ${shown(root)}`)];
    if (direct || hits.length > 0)
      return [changes(`may read passwords or tokens below ${shown(root)}`)];
  }
  return [];
}

/** Devices and files of the kernel that do something when they are opened or read; harmless ones excepted. */
export function isDevice(path: string): boolean {
  const clean = normalise(path);
  if (/^\/dev\/(null|stdin|stdout|stderr|fd\/\d+)$/.test(clean)) return false;
  if (/^\/dev\/(disk\/by-[a-z]+|mapper|pts|shm|input|dri|snd|bus)?\/?$/.test(clean)) return false;
  return (
    /^\/dev\//.test(clean) ||
    /^\/(var\/)?run\/initctl$/.test(clean) ||
    /^\/proc\/(sysrq-trigger|kmsg|\d+\/clear_refs|kcore)$/.test(clean) ||
    /^\/sys\/kernel\/debug\/|\/sys\/kernel\/(tracing|debug)\/.*trace_pipe$/.test(clean)
  );
}

/** A disk, partition, volume or memory device: overwriting it destroys data. */
export function isDisk(path: string): boolean {
  const clean = normalise(path);
  return (
    /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|md|dm-|loop|nbd|sr|fd\d|mapper\/|disk\/|zvol\/|pve\/|vg|ubuntu-vg\/|rbd|drbd|bcache|mtd|mem$|kmem$|pmem|ram|sg|zd|[a-z0-9_-]+\/[a-z0-9_-]+$)/.test(
      clean,
    ) && !/^\/dev\/(fd|pts|shm|input|net|snd|dri|bus)\//.test(clean)
  );
}

/** Files of the kernel that stop the machine or take a disk away when they are written to. */
export function isKernelSwitch(path: string): boolean {
  return /^\/proc\/sysrq-trigger$|^\/sys\/power\/(state|disk)$|^\/sys\/.*\/(device\/)?(delete|remove)$|^\/dev\/watchdog\d*$/.test(
    normalise(path),
  );
}

/** A directory whose recursive change breaks the system: the root and its own first level. */
export function isSystemRoot(path: string): boolean {
  const clean = normalise(path.replace(/\/\*+$/, '/').replace(/\/\.[*?[][^/]*$/, '/'));
  return (
    /^(\/|\/(bin|boot|dev|etc|home|lib|lib32|lib64|opt|proc|root|run|sbin|srv|sys|usr|var|mnt|media)|\/(usr|var|etc)\/(bin|sbin|lib|lib64|share|local|ssh|ssl|pve|systemd|log|cache|spool)|~|)$/.test(
      clean,
    ) && !/^\.?$/.test(path)
  );
}

/** Files that a machine cannot start or be logged in to without. */
export function isVital(path: string): boolean {
  return /^\/(etc\/(passwd|shadow|group|gshadow|fstab|crypttab|sudoers|sudoers\.d\/.*|pam\.d(\/.*)?|inittab|nsswitch\.conf|ssh\/sshd_config)|boot(\/.*)?|efi(\/.*)?|vmlinuz.*|initrd.*|(usr\/)?lib\/(systemd\/systemd|ld-linux.*|x86_64-linux-gnu\/libc\..*)|bin|sbin|lib|lib64|usr|etc)$|\/\.ssh\/authorized_keys2?$/.test(
    normalise(path),
  );
}

/** What overwriting a path does: a device and a vital file cannot be brought back. */
export function overwriting(name: string, target: Arg, append: boolean): Finding {
  const path = target.guess ?? target.value;
  if (isDisk(path)) return destroys(`${name} overwrites the device ${shown(path)}`);
  if (isKernelSwitch(path)) return destroys(`${name} writes to the kernel: ${shown(path)}`);
  const swept = target.holes.some(
    (hole) => hole.kind === 'paths' && hole.patterns.some((pattern) => pattern.includes('/**/')),
  );
  if (!append && swept) return destroys(`${name} empties everything that find finds`);
  if (!append && isVital(path))
    return destroys(`${name} overwrites ${shown(path)}, which the machine needs`);
  return changes(`${name} writes ${shown(target)}`);
}
