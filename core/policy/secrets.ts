/** Which paths hold secrets. */
import { normalise } from './normal-path.ts';

/** Keys whose reading is destructive (P4): who has read them once has them for ever. */
const KEYS: readonly RegExp[] = [
  /(^|[-_./])age[-_.]?keys?([-_.][^/]*)?$|(^|\/)keys?\.txt$/i,
  /(^|\/)(g?shadow|master\.passwd|opasswd|g?shadow-|spwd\.db|smbpasswd)$|(^|\/)etc\/g?shadow[^/]*$|(^|\/)g?shadow([-._](bak|old|orig|save|backup|\d+|dpkg-\w+))+(\.(gz|bz2|xz|zst))?$/,
  /(^|\/)id_(rsa|dsa|ecdsa|ed25519|xmss)(_sk)?([^/]*)$(?<!\.pub)/,
  // Whatever stands in .ssh by another name than these is a key.
  /(^|\/)\.ssh\/(?!(config|authorized_keys|known_hosts|environment|rc|allowed_signers)[^/]*$)[^/*?[\]{}]+$(?<!\.pub)/,
  /(^|\/)(crypto_)?key_?files?(\.bin)?$|(^|\/)secrets\.tdb$|(^|\/)var\/lib\/samba\/private\/[^/]+$/,
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
  /(^|\/)(containers\/auth\.json|credentials\.tfrc\.json|tailscaled\.state|upsd\.users|passdb\.tdb)$|(^|\/)\.local\/share\/keyrings\/[^/]+$/,
  /(^|\/)(etc\/rancher\/rke2\/rke2\.yaml|var\/lib\/rancher\/rke2\/server\/(tls|token|cred).*|var\/lib\/NetworkManager\/secret_key)$/,
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
export const EXAMPLES: readonly string[] = [
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
