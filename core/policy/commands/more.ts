/** Smaller programs, each with the few calls of it that only read. */
import { changes, endless, shown } from '../model.ts';
import type { Call, Check } from '../model.ts';
import { best } from './lenient.ts';
import { each } from './rules.ts';
import type { Table } from './rules.ts';

/** Only calls whose words, joined by blanks and wholly known, match. */
const onlyIf = (pattern: RegExp): { check: Check } => ({
  check: (call: Call) => {
    const text = call.args.map(best).join(' ');
    const known = call.args.every((arg) => arg.holes.length === 0 && !arg.splits);
    return known && pattern.test(text)
      ? []
      : [changes(`${call.name} ${shown(text)} is not known to only read`)];
  },
});

const avahi = onlyIf(/^-[atrpv]+( _[\w.-]+)?$/);

export const more: Table = {
  'qemu-img': onlyIf(
    /^(info|check|map|snapshot -l|compare)( --output=\w+| -U| --force-share| -f \w+)* [\w./:@-]+( [\w./:@-]+)?$/,
  ),
  'corosync-quorumtool': onlyIf(/^(-s|-l|-i)*$/),
  'corosync-cfgtool': onlyIf(/^-[sn]$/),
  ...each('crm_mon', onlyIf(/^-1[rAf]*$|^-[rAf]*1$/)),
  ...each('crm pcs', onlyIf(/^(status|config show|resource status|cluster status)$/)),
  drbdadm: onlyIf(/^(status|dump|cstate|dstate|role)( [\w-]+)?$/),
  nfsstat: onlyIf(/^(-[scmnr234]+ ?)*$/),
  nfsiostat: onlyIf(/^\d+ \d+$|^$/),
  showmount: onlyIf(/^-[ead]+( [\w.:-]+)?$/),
  exportfs: onlyIf(/^(-s|-v)?$/),
  smbstatus: onlyIf(/^(-[bpSLv]+ ?)*$/),
  testparm: onlyIf(/^-s(v)?( [\w./-]+)?$/),
  rpcinfo: onlyIf(/^(-p|-s)?( ?[\w.:-]+)?$/),
  ...each('quota repquota', onlyIf(/^-[aguvsp]+( [\w/.-]+)*$/)),
  zramctl: onlyIf(/^(-n|--output-all|--noheadings)?$/),
  cpupower: onlyIf(/^(frequency-info|idle-info|monitor -l)( -[a-z]+)*$/),
  ...each('numastat', onlyIf(/^(-[cmnvz]+|-p \d+)?( ?[\w-]+)*$/)),
  dkms: onlyIf(/^status( [\w./-]+)*$/),
  mokutil: onlyIf(/^--(sb-state|list-enrolled)$/),
  efibootmgr: onlyIf(/^(-v|-u)*$/),
  auditctl: onlyIf(/^-[ls]$/),
  ...each('ausearch aureport', onlyIf(/^(-[\w-]+ ?)([\w.:/ -]*)$/)),
  getsebool: onlyIf(/^(-a|\w+)$/),
  semanage: onlyIf(/^(port|fcontext|boolean|user|login) -l[C]?$/),
  semodule: onlyIf(/^-l[a-z]*$/),
  iscsiadm: onlyIf(/^-m (session|node|iface)( -P \d)?$/),
  ...each('getcap', onlyIf(/^(-r |-v )*[\w/.-]+$/)),
  arc_summary: onlyIf(/^(-[adrs]+( \w+)?)?$/),
  'zerotier-cli': onlyIf(/^(info|status|listnetworks|listpeers|peers)$/),
  'unbound-control': onlyIf(/^(status|stats_noreset|list_\w+|lookup [\w.-]+)$/),
  rndc: onlyIf(/^status$/),
  dnsmasq: onlyIf(/^(--test|--version|-v)$/),
  lldpctl: onlyIf(/^(-f \w+)?( ?\w+)*$/),
  lldpcli: onlyIf(/^show [\w -]+$/),
  'avahi-browse': {
    check: (call, shell) =>
      /^-[a-z]*t/.test(call.args.map(best).join(' '))
        ? avahi.check(call, shell)
        : [endless('avahi-browse waits for services')],
  },
  ipcalc: onlyIf(/^[\w./ -]+$/),
  sipcalc: onlyIf(/^[\w./ -]+$/),
  bluetoothctl: onlyIf(/^(show|devices|list|version)$/),
  wpa_cli: onlyIf(/^(-i \w+ )?(status|scan_results|list_networks|signal_poll)$/),
  ...each('stty', onlyIf(/^(-a|--all|size)?$/)),
  ...each('tput', onlyIf(/^(cols|lines|colors)$/)),
  crudini: onlyIf(/^--get [\w./ -]+$/),
  rename: onlyIf(/^(-n|--no-act|-V|--version)( .*)?$/s),
  ...each('smem', onlyIf(/^(-[tkrpuwm]+ ?)*$/)),
  k9s: onlyIf(/^(version|info)( -s| --short)?$/),
  hwclock: onlyIf(/^(-r|--show|--verbose|-v)?$/),
  'dpkg-vendor': onlyIf(/^--query \w+$/),
  'check-support-status': onlyIf(/^$/),
  'apt-show-versions': onlyIf(/^(-u|-b|[\w.+-]+)*$/),
  pg_config: onlyIf(/^(--\w+)*$/),
  gh: onlyIf(/^(auth status|(pr|issue|run|release|repo) (list|view|status)( [\w./#]+)*)$/),
  rclone: onlyIf(
    /^(version|listremotes|(ls|lsd|lsl|lsf|size|about|check) [\w:./-]+( [\w:./-]+)?)$/,
  ),
  'acme.sh': onlyIf(/^--list$/),
  'kafka-topics.sh': onlyIf(/^--bootstrap-server [\w.:,-]+ --(list|describe)( --topic [\w.-]+)?$/),
  mosquitto_sub: { check: () => [endless('mosquitto_sub waits for messages')] },
  snmpget: onlyIf(/^(-v ?2c|-v ?1) -c \w+ [\w.:-]+( [\w.:-]+)+$/),
  snmpwalk: onlyIf(/^(-v ?2c|-v ?1) -c \w+ [\w.:-]+( [\w.:-]+)*$/),
  'lxc-checkconfig': onlyIf(/^$/),
  vzlist: onlyIf(/^(-a|-o [\w,]+)*$/),
  'tuned-adm': onlyIf(/^(active|list)$/),
  ...each(
    'aws',
    onlyIf(
      /^(--version|sts get-caller-identity|s3 ls( s3:\/\/[\w./-]+)?|ec2 describe-(instances|volumes|regions|security-groups))$/,
    ),
  ),
};
