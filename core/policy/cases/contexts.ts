/** Ways to run a command inside another: the pieces that the random tests nest. */
import { quoted } from './cases.ts';

/** Puts a command into a place where it runs. */
export type Context = (command: string) => string;

/** Places where the inner command alone decides (P3): nothing is added to what it does. */
export const TRANSPARENT: readonly Context[] = [
  (c) => `ls; ${c}`,
  (c) => `${c}\nls`,
  (c) => `ls && { ${c}\n}`,
  (c) => `ls || { ${c}\n}`,
  (c) => `(${c}\n)`,
  (c) => `{ ${c}\n}`,
  (c) => `! { ${c}\n}`,
  (c) => `time { ${c}\n}`,
  (c) => `if { ${c}\n}; then ls; fi`,
  (c) => `if true; then ${c}\nfi`,
  (c) => `if true; then ls; elif { ${c}\n}; then ls; fi`,
  (c) => `if true; then ls; else ${c}\nfi`,
  (c) => `while read -r line; do ${c}\ndone < /etc/hosts`,
  (c) => `for i in 1 2; do ${c}\ndone`,
  (c) => `case x in y) ls;; x) ${c}\n;; esac`,
  (c) => `echo $( ${c}\n)`,
  (c) => `echo "a $( ${c}\n) b"`,
  (c) => `[[ -n $( ${c}\n) ]]`,
  (c) => `wc -l < <( ${c}\n)`,
  (c) => `diff <( ${c}\n) /etc/hosts`,
  (c) => `{ ${c}\n} | wc -l`,
  (c) => `true | { ${c}\n}`,
  (c) => `{ ${c}\n} 2>&1 >/dev/null`,
  (c) => `sh -c ${quoted(c)}`,
  (c) => `bash -ec ${quoted(c)}`,
  (c) => `sudo bash -c ${quoted(c)}`,
  (c) => `sudo -u deploy sh -c ${quoted(c)}`,
  (c) => `env LC_ALL=C sh -c ${quoted(c)}`,
  (c) => `nice -n 5 sh -c ${quoted(c)}`,
  (c) => `timeout -k 1 20 bash -c ${quoted(c)}`,
  (c) => `nohup sh -c ${quoted(c)}`,
  (c) => `ssh -p 22 web-1 ${quoted(c)}`,
  (c) => `pct exec 101 -- bash -c ${quoted(c)}`,
  (c) => `docker exec -u root web sh -c ${quoted(c)}`,
  (c) => `kubectl exec -n web pod-1 -- sh -c ${quoted(c)}`,
  (c) => `su - deploy -c ${quoted(c)}`,
  (c) => `x=$( ${c}\n); echo "$x"`,
];

/** Places that are never read-only themselves, but run the command all the same. */
export const OPAQUE: readonly Context[] = [
  (c) => `{ ${c}\n} &`,
  (c) => `f() { ${c}\n}; f`,
  (c) => `eval ${quoted(c)}`,
  (c) => `trap ${quoted(c)} EXIT`,
  (c) => `alias x=${quoted(c)}; x`,
  (c) => `echo \${x:-$( ${c}\n)}`,
  (c) => `coproc { ${c}\n}`,
  (c) => `while true; do ${c}\ndone`,
  (c) => `watch ${quoted(c)}`,
  (c) => `env -S ${quoted(`sh -c ${quoted(c)}`)}`,
  (c) => `find / -exec sh -c ${quoted(c)} \\;`,
  (c) => `xargs sh -c ${quoted(c)}`,
  (c) => `zsh -c ${quoted(c)}`,
  (c) => `strace -f sh -c ${quoted(c)}`,
  (c) => `systemd-run sh -c ${quoted(c)}`,
  (c) => `{ ${c}\n} > /tmp/log`,
  (c) => `X=$( ${c}\n) ls`,
  (c) => `a=(1 "$( ${c}\n)")`,
  (c) => `chroot /mnt sh -c ${quoted(c)}`,
  (c) => `flock /tmp/lock sh -c ${quoted(c)}`,
];

/** Commands that read. */
export const READS: readonly string[] = [
  'ls -la /srv',
  'cat /etc/hosts | grep -v "^#"',
  'systemctl status nginx',
  'df -h',
  'docker ps -a',
  "awk '{print $1}' /etc/passwd",
  "sed -n '1,5p' /etc/hosts",
  'find /var/log -name "*.log" -mtime -1',
];

/** Commands that change something, by all kinds of ways. */
export const WRITES: readonly string[] = [
  'touch /tmp/f',
  'echo x > /tmp/f',
  'ls | tee /tmp/f',
  'sed -i s/a/b/ /tmp/f',
  'sort -o /tmp/f /etc/hosts',
  'systemctl restart nginx',
  'apt-get install -y nginx',
  'docker restart web',
  'awk \'BEGIN{system("id")}\'',
  'curl -o /tmp/f https://example.org',
  'git commit -m x',
  '/tmp/program',
  'frobnicate',
  'PATH=/tmp ls',
];

/** Commands that destroy. */
export const DESTROYS: readonly string[] = [
  'rm -rf /srv/data',
  'dd if=/dev/zero of=/dev/sda',
  'mkfs.ext4 /dev/sdb1',
  'zfs destroy -r tank/data',
  'qm destroy 100',
  "psql -c 'drop table users'",
  'docker volume rm data',
  'kubectl delete namespace prod',
  'iptables -F',
  'systemctl poweroff',
  'cat /etc/shadow',
  'find /srv -delete',
  'chmod -R 777 /',
];
