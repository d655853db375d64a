/** Packages that a machine cannot be without, and those whose purging takes data along. */
import { destroys, shown } from '../model.ts';
import type { Arg, Finding, Rule } from '../model.ts';
import { best } from './lenient.ts';

/** Packages without which a machine does not start, or nobody comes in, and those whose purging takes data along. */
const ESSENTIAL =
  /^(\*|\.\*|lib\*|linux-(image|kernel|base)\S*|kernel(-core|-default)?|pve-(kernel|manager|cluster)\S*|proxmox-(ve|kernel)\S*|libc6?|libc-bin|glibc|musl|base-(files|passwd)|systemd|systemd-sysv|init|sysvinit-core|udev|dpkg|apt|rpm|dnf|yum|bash|dash|coreutils|util-linux|mount|login|passwd|sudo|openssh-server|openssh|ifupdown2?|network-manager|NetworkManager|netplan\.io|grub\S*|initramfs-tools|cryptsetup|lvm2|zfsutils-linux|busybox|perl-base|e2fsprogs)(:\w+)?$/;
const KEEPS_DATA =
  /^(postgresql|mysql|mariadb|mongodb|mongod|redis|influxdb|elasticsearch|clickhouse|couchdb|rabbitmq|etcd|ceph|docker-ce|vaultwarden|gitlab)\S*$/;

/** What speaks against removing packages by name. */
function removes(program: string, verb: string, names: readonly Arg[]): Finding[] {
  const vital = names.filter((arg) => ESSENTIAL.test(best(arg)));
  const data = /purge/.test(verb) ? names.filter((arg) => KEEPS_DATA.test(best(arg))) : [];
  return [
    ...vital.map((arg) => destroys(`${program} removes ${shown(arg)}, which the machine needs`)),
    ...data.map((arg) => destroys(`${program} purges ${shown(arg)} with its data`)),
  ];
}

const REMOVAL =
  /^(remove|purge|autoremove|autopurge|erase|del|rm|uninstall|remove-nodeps|--purge|--remove|-[rP]|-e\w*|--erase|-R\w*)$/;

/** The same rule, with an eye on what is removed. */
export function watched(rule: Rule): Rule {
  return {
    ...rule,
    check: (call, shell) => {
      const at = call.args.findIndex((arg) => REMOVAL.test(best(arg)));
      const dry = call.args.some((arg) =>
        /^(-s|--simulate|--dry-run|--just-print|--assumeno|--test)$/.test(best(arg)),
      );
      const purges = call.args.some((arg) => /purge|^-P$/.test(best(arg))) ? 'purge' : 'remove';
      const names = call.args.filter((arg) => !best(arg).startsWith('-'));
      return [
        ...(at >= 0 && !dry ? removes(call.name, purges, names) : []),
        ...rule.check(call, shell),
      ];
    },
  };
}
