/** Servers' own programs: version, and the check of a configuration that changes nothing. */
import { changes, destroys, shown } from '../model.ts';
import type { Call, Check } from '../model.ts';
import { best } from './lenient.ts';
import { each } from './rules.ts';
import type { Table } from './rules.ts';

const text = (call: Call): string => call.args.map(best).join(' ');

/** Only the calls whose words match read. */
const onlyIf = (pattern: RegExp, what: string): { check: Check } => ({
  check: (call) =>
    pattern.test(text(call)) && call.args.every((arg) => arg.holes.length === 0)
      ? []
      : [changes(`${call.name} ${shown(text(call))} ${what}`)],
});

/** Only a question for the version. */
const version = onlyIf(
  /^(--version|-version|-V|-v|version|--help|-h)$/,
  'is not known to only read',
);

/** RabbitMQ: resetting or purging throws messages away. */
const brokers = (pattern: RegExp, what: string): { check: Check } => ({
  check: (call, shell) =>
    /(^| )(force_reset|reset|purge_queue|delete_\w+|forget_cluster_node)( |$)/.test(text(call))
      ? [destroys(`${call.name} ${shown(text(call))} throws data away`)]
      : onlyIf(pattern, what).check(call, shell),
});

/** Stores of settings and secrets, and what runs beside them. */
const keeping = (pattern: RegExp): { check: Check } => ({
  check: (call, shell) =>
    /^(kv delete -recurse|kv (metadata delete|destroy)|secrets disable|(volume|namespace) (delete|deregister)|(operator raft )?snapshot restore|lease revoke -prefix)( |$)/.test(
      text(call),
    )
      ? [destroys(`${call.name} ${shown(text(call))} deletes what it keeps`)]
      : onlyIf(pattern, 'is not known to only read').check(call, shell),
});

export const servers: Table = {
  nginx: onlyIf(
    /^((-q )?-[tT]( -q)?( -c \/etc\/nginx\/nginx\.conf)?|-v|-V|-h)$/,
    'starts or signals the server',
  ),
  ...each(
    'apachectl apache2ctl',
    onlyIf(
      /^(configtest|-t|-S|-M|-V|-v|-l|-L|status|fullstatus|(-t )?-D (DUMP_VHOSTS|DUMP_MODULES|DUMP_INCLUDES|DUMP_RUN_CFG))$/,
      'controls the server',
    ),
  ),
  ...each(
    'httpd apache2',
    onlyIf(/^(-t|-S|-M|-V|-v|-l|-L|-t -D (DUMP_VHOSTS|DUMP_MODULES))$/, 'controls the server'),
  ),
  haproxy: onlyIf(/^(-v|-vv|(-c -q|-c)( -f [\w./-]+)+|-f [\w./-]+ -c)$/, 'starts the server'),
  caddy: onlyIf(
    /^(version|list-modules|environ|build-info|(validate|adapt)( --config [\w./-]+| --adapter \w+)*)$/,
    'controls the server',
  ),
  traefik: onlyIf(/^(version|healthcheck)$/, 'starts the server'),
  sshd: onlyIf(/^(-t|-T|-V)$/, 'starts the server'),
  'named-checkconf': onlyIf(/^(-v|-z)?( ?[\w/][\w./-]*)?$/, 'is not understood'),
  'named-checkzone': onlyIf(/^\w[\w.-]* [\w/][\w./-]*$/, 'is not understood'),
  visudo: onlyIf(/^(-c|-cs|-c -f [\w./-]+|-cf [\w./-]+)$/, 'edits who may do what'),
  postconf: onlyIf(/^(-[ndMPhHx]+)?( ?[\w.]+)*$/, 'changes the settings'),
  ...each('postqueue', onlyIf(/^(-p|-j)$/, 'changes the queue')),
  postcat: version,
  exim: onlyIf(/^(-bp|-bpc|-bV)$/, 'sends mail'),
  exim4: onlyIf(/^(-bp|-bpc|-bV)$/, 'sends mail'),
  doveconf: onlyIf(/^(-n|-a)?$/, 'shows passwords'),
  doveadm: onlyIf(/^(who|proxy list|service status|log find)$/, 'changes mail'),
  ...each(
    'php-fpm php-fpm7.4 php-fpm8.0 php-fpm8.1 php-fpm8.2 php-fpm8.3 php-fpm8.4 php-fpm8.5',
    onlyIf(/^(-t|-tt|-v|-m|-i)$/, 'starts the server'),
  ),
  logrotate: onlyIf(
    /^(?=.*(^| )(-d|--debug|-dv|-vd) )((-d|--debug|-v|--verbose|-dv|-vd) )+[\w/.][\w./-]*$/,
    'rotates logs',
  ),
  promtool: onlyIf(
    /^(check (config|rules|metrics|healthy|ready)( [\w./*-]+)*|query (instant|labels|series) (?!.* -)https?:\/\/[\w.:-]+\/? [\w {}=~"'.<>()*/-]+)$/,
    'is not known to only read',
  ),
  amtool: onlyIf(
    /^((alert|silence)( query)?( --alertmanager\.url=https?:\/\/[\w.:-]+\/?)?|check-config [\w./-]+|config show)$/,
    'changes alerts',
  ),
  rabbitmqctl: brokers(
    /^(status|cluster_status|list_\w+|environment|ping|report|node_health_check)( [\w -]+)*$/,
    'changes the broker',
  ),
  ...each('varnishstat', onlyIf(/^-1( .*)?$/, 'needs a screen')),
  squid: onlyIf(/^(-v|-k (parse|check))$/, 'controls the server'),
  pihole: onlyIf(/^(status|-v|version|-c (-j|-e)|-q .*|query .*)$/, 'changes the filter'),
  ...each(
    'vault consul nomad',
    keeping(
      /^(version|--version|status|members|operator raft list-peers|(secrets|auth|policy|audit) list|catalog (nodes|services|datacenters)|(node|job|alloc|volume) status( \w[\w-]*)?|(deployment|eval) list|server members)( -format=\w+)?$/,
    ),
  ),
  ...each('gcc g++ cc clang rustc javac ffmpeg ffprobe git-lfs hugo dotnet swift', version),
  ...each('wp drush composer bundle', version),
  ...each(
    'cloudflared',
    onlyIf(/^(version|--version|tunnel (list|info [\w-]+))$/, 'changes tunnels'),
  ),
  ...each(
    'nvidia-smi',
    onlyIf(
      /^(-L|-q|--list-gpus|--query-gpu=[\w.,]+( --format=[\w,]+)?|-q -d \w+|topo -m|pmon -c 1|dmon -c 1|)$/,
      'changes the graphics card',
    ),
  ),
  ...each('rocm-smi', onlyIf(/^(--show\w+|-a)?$/, 'changes the graphics card')),
  ...each(
    'vcgencmd',
    onlyIf(
      /^(measure_temp|measure_volts( \w+)?|measure_clock \w+|get_throttled|get_mem \w+|get_config \w+|version|bootloader_version)$/,
      'changes the board',
    ),
  ),
  ...each('apcaccess', onlyIf(/^(status)?$/, 'is not understood')),
  ...each('neofetch screenfetch fastfetch', onlyIf(/^(--stdout)?$/, 'is not understood')),
};
