/** Paths that matter to the verdict: what is secret, what is a device, what is the system's root. */
import { changes, destroys, HOLE, isOpen, shown } from './model.ts';
import type { Arg, Finding } from './model.ts';

/** Keys whose reading is destructive (P4): who has read them once has them for ever. */
const KEYS: readonly RegExp[] = [
  /(^|[-_./])age[-_.]?keys?([-_.][^/]*)?$|(^|\/)keys?\.txt$/i,
  /(^|\/)(g?shadow|master\.passwd|opasswd|g?shadow-|spwd\.db|smbpasswd)$|(^|\/)etc\/g?shadow[^/]*$|(^|\/)g?shadow([-._](bak|old|orig|save|backup|\d+|dpkg-\w+))+(\.(gz|bz2|xz|zst))?$/,
  /(^|\/)id_(rsa|dsa|ecdsa|ed25519|xmss)(_sk)?([^/]*)$(?<!\.pub)/,
  /(^|\/)identity$(?<=\.ssh\/identity)/,
  /(^|\/)ssh_host_[a-z0-9]+_key$/,
  /\.(key|age|ppk|p12|pfx|jks|keystore|kdbx|p8|pk8)$/i,
  /(^|\/)(age|agekey|keys?\.txt)$(?<=(^|\/)(age|agekey|sops\/age\/keys?\.txt|age\/keys?\.txt|keys\.txt))/,
  /(^|[-_./])priv(ate)?[-_]?key[^/]*$|(^|[-_])privkey[^/]*$|[-_]key\.pem$|(^|\/)key\.pem$|\.key\.pem$/i,
  /(^|\/)(etc\/ssl\/private|etc\/pki\/tls\/private|etc\/pve\/(nodes\/[^/]+\/)?priv|private-keys-v1\.d|secring\.gpg)(\/|$)/,
  /(^|\/)\.gnupg\/(private|secring)[^/]*/,
  /(^|\/)etc\/(ipsec\.secrets|wireguard\/[^/]*\.conf|krb5\.keytab)$|\.keytab$/,
  /(^|\/)etc\/letsencrypt\/(live|archive|keys|accounts)\/(.*\/)?(privkey|private_key)[^/]*$/,
];

/** Places that hold passwords and tokens. */
const SECRETS: readonly RegExp[] = [
  /(^|\/)\.(env|envrc)(\.[^/]*)?$|(^|\/)[^/]+\.env$/,
  /(^|\/)\.(netrc|pgpass|my\.cnf|git-credentials|htpasswd|vault-token|npmrc|pypirc|s3cfg|boto|authinfo(\.gpg)?|mylogin\.cnf|smbcredentials|dockercfg|rediscli_auth|passwd-s3fs|terraformrc)$/,
  /(^|\/)\.(aws|azure|password-store|config\/(gh|gcloud|rclone|hub|op|doctl))(\/|$)/,
  /(^|\/)\.kube\/[^/]*config[^/]*$|(^|\/)\.docker\/config\.json$|(^|\/)kubeconfig[^/]*$/,
  /(^|\/)\.(bash|zsh|sh|mysql|psql|python|sqlite|rediscli|node_repl|ash)_?history$/,
  /(^|\/)(\.?credentials|\.?secrets?|\.?passwords?|\.?api[-_]?keys?|\.?tokens?|\.?creds|htpasswd|passwd\.txt)(\.(txt|json|ya?ml|toml|ini|conf|xml|cfg|properties))?$/i,
  /(^|\/)(run|var\/run)\/(secrets|credentials|agenix)\/./,
  /(^|\/)proc\/[^/]+\/(task\/[^/]+\/)?(environ|mem|auxv)$|^\/proc\/kcore$|^\/dev\/(mem|kmem|port)$/,
  /(^|\/)etc\/(mysql\/debian\.cnf|ppp\/(chap|pap)-secrets|wpa_supplicant\/[^/]*\.conf|NetworkManager\/system-connections\/.*|kubernetes\/[^/]*\.conf|rancher\/k3s\/k3s\.yaml|exim4\/passwd\.client|postfix\/sasl_passwd(\.db)?|dovecot\/(users|passwd)|corosync\/authkey|munge\/munge\.key|bind\/rndc\.key|cloudflared\/.*\.json|ceph\/.*keyring|openvpn\/.*(auth|pass).*|proxmox-backup\/.*(shadow|token).*)$/,
  /(^|\/)(terraform\.tfstate(\.backup)?|acme\.json|vault[-_.]?pass[^/]*|service-account[^/]*\.json|wpa_supplicant[^/]*\.conf|rclone\.conf)$/,
  /(^|\/)(var\/lib\/(kubelet\/pki|rancher\/k3s\/server\/(tls|token|node-token|cred).*|sss\/(db|secrets)))(\/|$)/,
  /\.(keyring|kbx|ovpn|tfvars|tfstate)$/i,
];

/** What often holds passwords among other things: reading it waits for a person. */
const PRIVATE: readonly RegExp[] = [
  /(^|\/)\.?(secrets?|credentials?|vault)\//i,
  /(^|\/)(wp-config\.php|config\.php|settings\.local\.php|database\.yml|local_settings\.py|authkey|keyring|admin\.conf|\.viminfo|\.lesshst)$/,
  /(^|\/)\.(gnupg|kube|docker|ssh)(\/|$)(?!(config|authorized_keys|known_hosts)([^/]*)$)(?!.*\.pub$)/,
  /(^|[/._-])(secrets?|credentials?|passwords?|api[-_]?keys?|vault)([._-][^/]*)?$/i,
  /(^|\/)sys\/firmware\/efi\/efivars(\/|$)|(^|\/)var\/lib\/private(\/|$)/,
  /\.(gpg|asc|secret|sops\.ya?ml|pem)$(?<!(cert|chain|fullchain|ca|bundle|c|site|crt)\.pem)(?<!\/certs\/[^/]*\.pem)/i,
];

/** One path for each kind of secret: what a glob or a directory tree is tried against. */
const EXAMPLES: readonly string[] = [
  '/etc/shadow',
  '/etc/gshadow',
  '/etc/shadow-',
  '/etc/ssh/ssh_host_rsa_key',
  '/etc/ssh/ssh_host_ed25519_key',
  '/etc/ssh/ssh_host_ecdsa_key',
  '/etc/ssl/private/ssl-cert-snakeoil.key',
  '/etc/pve/priv/shadow.cfg',
  '/etc/pve/priv/authkey.key',
  '/etc/pve/priv/token.cfg',
  '/etc/letsencrypt/live/example.org/privkey.pem',
  '/etc/letsencrypt/archive/example.org/privkey1.pem',
  '/etc/wireguard/wg0.conf',
  '/root/.ssh/id_rsa',
  '/root/.ssh/id_ed25519',
  '/home/user/.ssh/id_rsa',
  '/home/user/.ssh/id_ed25519',
  '~/.ssh/id_rsa',
  '~/.ssh/id_ed25519',
  '~/.ssh/id_ecdsa',
  '/root/.ssh/id_ecdsa',
  '/root/.bash_history',
  '~/.bash_history',
  '/root/.pgpass',
  '~/.pgpass',
  '~/.netrc',
  '/root/.netrc',
  '/root/.my.cnf',
  '~/.my.cnf',
  '/root/.aws/credentials',
  '~/.aws/credentials',
  '/root/.kube/config',
  '~/.kube/config',
  '/root/.docker/config.json',
  '~/.docker/config.json',
  '/root/.config/sops/age/keys.txt',
  '~/.config/sops/age/keys.txt',
  '/home/user/.bash_history',
  '/home/user/.kube/config',
  '/home/user/.aws/credentials',
  '/etc/mysql/debian.cnf',
  '/etc/NetworkManager/system-connections/wifi.nmconnection',
  '/etc/ppp/chap-secrets',
  '/etc/kubernetes/admin.conf',
  '/etc/ipsec.secrets',
  '/etc/krb5.keytab',
  '/proc/1/environ',
  '/proc/self/environ',
  '/proc/4242/environ',
  '/root/.env',
  '/opt/app/.env',
  '/srv/app/.env',
  '/var/www/html/.env',
  '/var/www/html/wp-config.php',
  '/home/user/app/.env',
  '/run/secrets/db_password',
  '/etc/security/opasswd',
  '/var/lib/rancher/k3s/server/token',
  '/dev/sda',
  '/dev/mem',
  '/dev/watchdog',
];

/**
 * How bad it is that a file is read: `key` for private keys and password databases, `secret` for passwords and tokens, `private`
 * for what often holds some.
 */
export type Secrecy = 'key' | 'secret' | 'private';

/** How bad it is that the contents of a path are read; undefined for an ordinary path. */
export function secrecyOf(path: string): Secrecy | undefined {
  const clean = normalise(path);
  if (KEYS.some((pattern) => pattern.test(clean)) && !/\.(pub|crt|cert|csr)$/.test(clean))
    return 'key';
  if (
    SECRETS.some((pattern) => pattern.test(clean)) &&
    !/\.(pub|example|sample|template|dist|md)$/.test(clean)
  )
    return 'secret';
  if (PRIVATE.some((pattern) => pattern.test(clean))) return 'private';
  return undefined;
}

/** Collapses `//`, `.` and `..`, and takes the ways round through /proc away. */
export function normalise(path: string): string {
  const out: string[] = [];
  const text = path
    .replace(/^file:\/\//, '')
    .replace(/^(\/+proc\/+[^/]+(\/+task\/+[^/]+)?\/+(root|cwd))+(?=\/|$)/, '');
  for (const part of text.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && out.length > 0 && out.at(-1) !== '..') out.pop();
    else out.push(part);
  }
  return (text.startsWith('/') ? '/' : '') + out.join('/');
}

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
