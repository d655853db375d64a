/** Programs that an operator asks one or two things: what else they are told may do anything. */
import { changes } from '../model.ts';
import { copies } from './copying.ts';
import { sendsNames } from './hosts.ts';
import { sure } from './lenient.ts';
import { onlyIf } from './more.ts';
import { has, valuesOf } from './options.ts';
import { each, reads } from './rules.ts';
import type { Table } from './rules.ts';

export const tools: Table = {
  // Only their version and their help are asked for, which the index answers.
  ...each(
    'openvpn telegraf clamdscan clamscan freshclam jellyfin goaccess multitail lnav tshark dumpcap wireshark influxd prometheus grafana-server alertmanager node_exporter loki promtail minio syncthing lynis rkhunter transmission-daemon qbittorrent-nox plexmediaserver home-assistant hass mosquitto zigbee2mqtt vaultwarden gitea forgejo etcd kubelet containerd runc crun conmon dockerd buildah skopeo pg_basebackup pg_dumpall duplicity rdiff-backup kopia autorestic ansible-inventory ansible-galaxy ansible-vault ansible-config barman',
    onlyIf(/^$(?!$)/),
  ),
  'pihole-FTL': onlyIf(/^(-v|-vv|version|branch|-t)$/),
  // It takes the lock of the password files, and makes it where there is none.
  lslogins: onlyIf(/^$(?!$)/),
  memcached: onlyIf(/^-V$/),
  velero: onlyIf(
    /^(version|(backup|restore|schedule|backup-location|snapshot-location) get( [\w-]+)?( -o (name|table))?)$/,
    [[/(^| )delete( |$)/, 'deletes backups']],
  ),
  // As JSON it shows the hash of the password.
  userdbctl: onlyIf(/^((user|group|groups-of-user|users-in-group) [\w.-]+|user|group|services)$/),
  biosdecode: onlyIf(/^(-d \/dev\/mem)?$/),
  iwgetid: onlyIf(/^([a-z]\w*)?( ?-[rafcmp]+)*$/),
  vainfo: onlyIf(/^(--display (drm|x11|wayland)( --device \/dev\/dri\/\w+)?)?$/),
  intel_gpu_top: onlyIf(/^-L$/),
  pdbedit: onlyIf(/^(-L|-L -v|-Lv|--list)$/),
  rspamc: onlyIf(/^(-h [\w.:-]+ )?(stat|uptime)$/),
  asterisk: onlyIf(
    /^-r?x{1,2} (core show (channels|uptime|version|calls|settings)|sip show (peers|registry)|pjsip show (endpoints|contacts|registrations)|queue show|iax2 show peers)( [\w/-]+)?$/,
  ),
  // The item `system.run` runs a command, and others read files or fetch pages.
  zabbix_get: onlyIf(
    /^(-s [\w.:-]+ )(-p \d+ )?-k "?(agent\.(ping|version|hostname)|system\.(uptime|hostname|uname|cpu\.\w+|swap\.size|users\.num)|vm\.memory\.size|vfs\.fs\.(size|inode|discovery)|net\.if\.\w+|proc\.num)(\[[\w/.,-]*\])?"?$/,
  ),
  // Certificates are public, and a listing shows no key.
  keytool: onlyIf(
    /^-list( -(v|rfc|cacerts|keystore [\w./-]+|storepass [\w.-]+|alias [\w.-]+|storetype \w+))*$/,
  ),
  rpm2cpio: reads('', { operands: 'files' }),
  bcachefs: onlyIf(/^(version|show-super( [\w/]+)?|fs usage( -h)?( [\w/]+)?)$/, [
    [/(^| )(format|device (remove|evacuate))( |$)/, 'overwrites or empties disks'],
  ]),
  rtcwake: onlyIf(/^-m show$/, [
    [
      /(^| )(-m ?|--mode[= ])?(mem|disk|off|freeze|standby)( |$)|^(?!.*(-m|--mode)).*-[st]/,
      'suspends the machine',
    ],
  ]),
  packer: onlyIf(/^(version|-v)$/),
  // A schema goes to standard output unless an option names a file. What a dump of rows holds is not known.
  pg_dump: reads(
    '-sOxv -U: -h: -p: -d: -n: -t: -N: -T: --schema-only --no-owner --no-privileges --no-acl --username: --host: --port: --dbname: --schema: --table:',
    {
      also: (read, call) => [
        ...sendsNames(call.name, valuesOf(read, '-h', '--host', '-d', '--dbname')),
        ...(has(read, '-s', '--schema-only')
          ? []
          : [changes('pg_dump copies what a database keeps')]),
      ],
    },
  ),
  patronictl: onlyIf(/^(-c \/etc\/patroni[\w/.-]+ )?(list|topology|history|version)( [\w-]+)?$/),
  pgbackrest: onlyIf(/^(version|(--stanza[ =][\w-]+ )?info( --(stanza|output)[ =][\w-]+)*)$/),
  'grafana-cli': onlyIf(/^plugins (ls|list-remote|list-versions [\w-]+)$/),
  pdnsutil: onlyIf(/^(list-all-zones|check-all-zones|(list-zone|check-zone) [\w.-]+)$/),
  // `postfix check` makes directories that are missing.
  postfix: onlyIf(/^status$/),
  cscli: onlyIf(
    /^((decisions|alerts|bouncers|machines|hub|collections|parsers|scenarios) list|alerts inspect \d+|metrics|lapi status|capi status|version)( -o (human|raw|json))?$/,
  ),
  swanctl: onlyIf(/^(--list-(sas|conns|pols|pools|authorities)|--stats|-l|-L|-P)$/),
  ipsec: onlyIf(/^(status|statusall|version)( [\w-]+)?$/),
  'debconf-show': onlyIf(/^[a-z\d][\w.+-]*$/),
  'run-parts': onlyIf(/^--(test|list)( --regex=[\w.^$-]+)? \/[\w./-]+$/),
  anacron: onlyIf(/^-T$/),
  capsh: onlyIf(/^--print$/),
  'v4l2-ctl': onlyIf(/^(-d ?[\w/]+ )?--(list-(devices|formats|ctrls|inputs)|info|all)$/),
  i2cdetect: onlyIf(/^-(l|V)$/),
  nmblookup: onlyIf(/^(-[ASMT] )?[\w.-]+$/),
  lsinitramfs: reads('-l', { operands: 'files' }),
  'proxmox-boot-tool': onlyIf(/^kernel list$/),
  // Of a stream; an archive by name may be on another machine, which a remote shell is asked for.
  cpio: {
    check: (call, shell) =>
      /^(-(?=i?v?t|tv?i?|vi?t|it)[itv]+|--list|--quiet|-i --list)( --quiet)?$/.test(sure(call))
        ? []
        : copies(call, shell),
  },
  certtool: reads('-i --certificate-info --infile:@ --inder', {
    operands: 'none',
    also: (read) =>
      has(read, '-i', '--certificate-info') ? [] : [changes('certtool makes or changes keys')],
  }),
  step: onlyIf(
    /^(version|certificate inspect (--short |--format \w+ )?\/?[\w][\w./-]*(crt|cer|pem)( --short| --format \w+)?)$/,
  ),
  ha: onlyIf(
    /^((core|host|os|supervisor|network|resolution|hardware|dns|audio|multicast|observer|cli|jobs) (info|stats)|backups( list)?|info)$/,
    [[/^host (reboot|shutdown)( |$)|(^| )(remove|datadisk wipe)( |$)/, 'stops it or deletes data']],
  ),
};
