/** Smaller programs, each with the few calls of it that only read. */
import { changes, endless, shown } from '../model.ts';
import type { Call, Check } from '../model.ts';
import { sendsNames } from './hosts.ts';
import { best } from './lenient.ts';
import { has, readOptions, valuesOf } from './options.ts';
import { dangerFindings, each, problems, reads, wrecks } from './rules.ts';
import type { Table } from './rules.ts';

/** Only calls whose words, joined by blanks and wholly known, match; `danger` is looked for in what does not. */
export const onlyIf = (
  pattern: RegExp,
  danger: readonly (readonly [RegExp, string])[] = [],
): { check: Check } => ({
  check: (call: Call) => {
    const text = call.args.map(best).join(' ');
    const known = call.args.every((arg) => arg.holes.length === 0 && !arg.splits);
    return known && pattern.test(text)
      ? []
      : [
          ...dangerFindings(call, danger),
          changes(`${call.name} ${shown(text)} is not known to only read`),
        ];
  },
});

/** Words of these kinds, in any number and order; `ahead` looks for what must be among them. */
const line = (words: string, ahead = ''): RegExp =>
  new RegExp(`^${ahead}(${words})( (${words}))*$`);

/** Verbs by which tools of clouds and stores delete what they keep. */
const GONE: readonly (readonly [RegExp, string])[] = [
  [
    /(^| )(delete|del|destroy|rm|rb|remove|purge|terminate|wipe|erase|nuke|delete-[\w-]+|[\w-]+:delete)( |$)(?!.*--dry-?run)/,
    'deletes what it keeps',
  ],
];

/** Tools of clouds, of which listing and showing is all that reads. */
const cloud = onlyIf(
  /^(--version|version|([a-z][\w-]* ){1,3}(list|ls|describe|get|show|info)( [\w.-]+)?|(ls|info|status|stat|du|tree)( [\w./-]+)?)$/,
  GONE,
);

const avahi = onlyIf(/^-[atrpv]+( _[\w.-]+)?$/);

export const more: Table = {
  'qemu-img': onlyIf(
    /^(info|check|map|snapshot -l|compare)( --output=\w+| -U| --force-share| -f \w+)* [\w./:@-]+( [\w./:@-]+)?$/,
    [
      [
        /^(convert|dd)( .*)? (of=)?\/dev\/(?!null|zero|stdin|stdout|fd\/)\S+$/,
        'overwrites a device',
      ],
      [/^snapshot (.* )?-[ad]( |$)|^resize (.* )?--shrink/, 'throws data away'],
    ],
  ),
  'corosync-quorumtool': onlyIf(/^(-s|-l|-i)*$/),
  'corosync-cfgtool': onlyIf(/^-[sn]$/),
  ...each('crm_mon', onlyIf(/^-1[rAf]*$|^-[rAf]*1$/)),
  ...each('crm pcs', onlyIf(/^(status|config show|resource status|cluster status)$/)),
  drbdadm: onlyIf(/^(status|dump|cstate|dstate|role)( [\w-]+)?$/, [
    [
      /(^| )(invalidate(-remote)?|wipe-md|create-md|primary .*--force|connect .*--discard-my-data)( |$)|--overwrite-data-of-peer/,
      'throws away what a disk holds',
    ],
  ]),
  nfsstat: onlyIf(/^(-[scmnr234]+ ?)*$/),
  nfsiostat: onlyIf(/^\d+ \d+$|^$/),
  showmount: onlyIf(/^(-[ead]+|--exports|--all|--directories)( [\w.:-]+)?$/),
  exportfs: onlyIf(/^(-s|-v)?$/),
  smbstatus: onlyIf(/^((-[bpSLv]+|--(shares|locks|processes|brief|verbose|json))( |$))*$/),
  testparm: onlyIf(/^-s(v)?( --(section|parameter)-name=[\w -]+)*( [\w./-]+)?$/),
  rpcinfo: onlyIf(/^(-p|-s)?( ?[\w.:-]+)?$/),
  ...each('quota repquota', onlyIf(/^-[aguvsp]+( [\w/.-]+)*$/)),
  zramctl: onlyIf(/^(-n|--output-all|--noheadings)?$/),
  cpupower: onlyIf(/^(frequency-info|idle-info|monitor -l)( -[a-z]+)*$/),
  ...each('numastat', onlyIf(/^(-[cmnvz]+|-p \d+)?( ?[\w-]+)*$/)),
  dkms: onlyIf(/^status( [\w./-]+)*$/),
  mokutil: onlyIf(/^--(sb-state|list-enrolled)$/),
  efibootmgr: onlyIf(/^(-v|-u)*$/),
  auditctl: onlyIf(/^-[ls]$/),
  ...each('ausearch aureport', onlyIf(/^(?!.*(checkpoint|--input))(-[\w-]+ ?)([\w.:/ -]*)$/)),
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
  crudini: onlyIf(/^--get( [\w/.][\w./-]*)+$/),
  rename: onlyIf(/^(-V|--version|(-n|--no-act) (s|y|tr)\/[\w. -]*\/[\w. -]*\/[gi]*( [\w./-]+)*)$/),
  ...each('smem', onlyIf(/^(-[tkrpuwm]+ ?)*$/)),
  k9s: onlyIf(/^(version|info)( -s| --short)?$/),
  hwclock: onlyIf(/^(-r|--show|--verbose|-v)?$/),
  'dpkg-vendor': onlyIf(/^--query \w+$/),
  'check-support-status': onlyIf(/^$/),
  'apt-show-versions': onlyIf(
    /^(-u|-b|-a|--upgradeable|--brief|--allversions|\w[\w.+-]*)?( \w[\w.+-]*)*$/,
  ),
  pg_config: onlyIf(/^(--\w+)*$/),
  gh: onlyIf(
    /^(auth status|(pr|issue|run|release|repo) (list|view|status)( [\w./#]+| (-L|--limit|-R|--repo|-s|--state|-l|--label|-a|--author) [\w./-]+)*)$/,
    GONE,
  ),
  rclone: onlyIf(
    /^(version|listremotes|(ls|lsd|lsl|lsf|size|about|check)( (--max-depth|--min-age|--max-age|--min-size|--max-size) \w+| --(json|human-readable|one-way|size-only|recursive|fast-list)| -R)*( [\w/][\w:./-]*){1,2}( (--max-depth|--min-age|--max-age|--min-size|--max-size) \w+| --(json|human-readable|one-way|size-only|recursive|fast-list)| -R)*)$/,
    [
      [
        /(^| )(purge|delete|sync|cleanup|rmdirs)( |$)(?!.*(-n|--dry-run)( |$))/,
        'deletes what is stored',
      ],
    ],
  ),
  'acme.sh': onlyIf(/^--list$/),
  'kafka-topics.sh': onlyIf(
    /^(--bootstrap-server [\w.:,-]+ --(list|describe)( --topic [\w.-]+)?|--(list|describe) --bootstrap-server [\w.:,-]+)$/,
    [[/--delete\b/, 'deletes a topic']],
  ),
  sg_inq: onlyIf(/^(-\w )?\/dev\/\w+$/),
  ...each('sg_format sg_sanitize', wrecks('overwrites a disk')),
  kind: onlyIf(/^(version|get (clusters|nodes))$/, [[/(^| )delete( |$)/, 'deletes a cluster']]),
  varnishadm: onlyIf(
    /^(backend\.list|vcl\.list|param\.show( \w+)?|ping|status|panic\.show|ban\.list|storage\.list)$/,
  ),
  man: onlyIf(/^(-k|-f|-w|--where|--whatis|--apropos)( [\w.+-]+)+$/),
  mysqlshow: onlyIf(line('-[hu] ?[\\w.-]+|--(host|user)=[\\w.-]+|-t|-v|--count|\\w+')),
  mysqldump: onlyIf(/^(--version|-V)$/),
  // Every call of it starts its daemon where none runs.
  pm2: onlyIf(/^(--help|-h)$/),
  targetcli: onlyIf(/^ls( [\w/.:-]+)*$/),
  ldapsearch: onlyIf(line('-x|-L+|-[bHshl] ?[\\w=,.:/-]+|\\([\\w=*&|()!.,@-]+\\)|[a-zA-Z]+|\\+')),
  ...each(
    'nm size readelf objdump',
    reads(
      '-aAbBCdDefghHilnoprsSStuvVwWxz -j: -M: --all --dynamic --demangle? --defined-only --undefined-only --print-size --size-sort --numeric-sort --no-sort --extern-only --file-header --program-headers --section-headers --sections --segments --symbols --syms --dyn-syms --relocs --notes --version-info --headers --private-headers --archive-headers --disassemble --section: --wide --histogram --string-dump: --hex-dump: --totals --format: --radix: --version --help',
      {
        operands: 'files',
        also: (read) =>
          read.operands
            .filter((file) => file.value.startsWith('@'))
            .map((file) => changes(`options come from ${shown(file)}`)),
      },
    ),
  ),
  ...each('dstat dool arcstat', onlyIf(/^(-[a-z]+ )*\d+ \d+$/)),
  nmap: onlyIf(
    line(
      '-s[nTSUV]|-Pn|-n|-F|--open|--reason|-v|-T[0-5]|-[46]|-p ?[\\d,-]+|-p-|--top-ports \\d+|[\\w.:][\\w.:/-]*',
      '(?=.*(^| )-(s[nTSUV]|p))',
    ),
  ),
  mosquitto_sub: {
    check: (call) => {
      const read = readOptions(
        call.args,
        '-vqNR -h: -p: -t: -u: -P: -C:# -W:# -F: -V: --cafile: --retained-only',
      );
      return has(read, '-W') && read.operands.length === 0
        ? [...problems(call.name, read), ...sendsNames(call.name, valuesOf(read, '-h', '-t'))]
        : [endless('mosquitto_sub waits for messages')];
    },
  },
  snmpget: onlyIf(/^(-v ?2c|-v ?1) -c \w+ [\w.:-]+( [\w.:-]+)+$/),
  snmpwalk: onlyIf(/^(-v ?2c|-v ?1) -c \w+ [\w.:-]+( [\w.:-]+)*$/),
  // Asked for their version alone they write settings and logs into the home directory.
  ...each('az gcloud gsutil bq', onlyIf(/^$(?!$)/, GONE)),
  ...each('hcloud argocd mc', cloud),
  // These write logs or caches of every call.
  ...each(
    'doctl openstack linode-cli oci flyctl heroku s3cmd b2 eksctl kops govc longhornctl cilium occ',
    onlyIf(/^(--version|version)$/, GONE),
  ),
  fping: onlyIf(
    line('-[aduseAn]|-[cCtrip] ?\\d+|-g|[\\d.]+(/\\d+)?', '(?=.*(^| )-[cC] ?\\d+|-[aud])'),
  ),
  smbclient: onlyIf(/^(-N )?-L ?[\w./:-]+( -N| -g| -U ?[\w%.-]+)*$/),
  'unbound-checkconf': onlyIf(/^([\w/][\w./-]*)?$/),
  'rabbitmq-diagnostics': onlyIf(
    /^(-q )?(check_\w+|status|ping|memory_breakdown|cluster_status|listeners|alarms|server_version|erlang_version)$/,
  ),
  // They need a screen; only their version is asked for.
  ...each(
    'htop btop atop glances ctop lazydocker turbostat dovecot ansible-lint ansible-doc tldr',
    onlyIf(/^$(?!$)/),
  ),
  'lxc-checkconfig': onlyIf(/^$/),
  vzlist: onlyIf(/^(-a|-o [\w,]+)*$/),
  'tuned-adm': onlyIf(/^(active|list)$/),
  ...each(
    'aws',
    onlyIf(
      /^(--version|sts get-caller-identity|s3 ls( s3:\/\/[\w./-]+)?|(ec2|rds|elbv2|eks|efs|autoscaling|cloudwatch|route53) (describe|list)-(?!.*(attribute|password|secret|credential|template))[a-z-]+( --(query|output|region|max-items|filters|instance-ids|no-cli-pager)( (?!file|http)[\w.,:=*|[\]{}()?@`'"-]+)*)*)$/,
      [
        [/(^| )s3 (rb( |$)|rm .*--recursive|sync .*--delete)/, 'deletes what is stored'],
        [/(^| )(terminate-instances|delete-[a-z0-9-]+)( |$)/, 'deletes what runs or is stored'],
      ],
    ),
  ),
};
