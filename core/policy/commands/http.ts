/** curl and wget: a plain fetch only reads; everything that sends, stores or runs does not. */
import { changes, destroys, literal, shown } from '../model.ts';
import type { Arg, Call, Check, Finding, Shell } from '../model.ts';
import { overwriting } from '../paths.ts';
import { best } from './lenient.ts';
import { has, readOptions, valuesOf } from './options.ts';
import type { Options } from './options.ts';
import { each, problems, readsFile } from './rules.ts';
import type { Table } from './rules.ts';

const CURL =
  '-s -S -f -L -I -i -k -v -g -N -4 -6 -m: -X: -w: -A: -H: -e: -r: --silent --show-error --fail --fail-with-body --location --head --include --insecure --verbose --globoff --no-buffer --ipv4 --ipv6 --max-time: --connect-timeout: --retry: --retry-delay: --retry-max-time: --retry-connrefused --request: --write-out: --user-agent: --header: --referer: --range: --compressed --http1.1 --http2 --http1.0 --tlsv1.2 --tlsv1.3 --max-redirs: --resolve: --noproxy: --no-progress-meter --progress-bar --url: --output: -o: --unix-socket: --interface: --connect-to: --cacert: --no-keepalive --version --help --max-filesize: --no-location --path-as-is -V -h -G --get --data-urlencode: -d: --data:';

const curl: Check = (call, shell) => {
  const read = readOptions(call.args, CURL);
  const found = [...problems('curl', read), ...sent(read, call)];
  if (has(read, '--version', '--help', '-V', '-h') && read.operands.length === 0) return found;
  const urls = [...read.operands, ...valuesOf(read, '--url')];
  for (const file of valuesOf(read, '-o', '--output'))
    if (!/^(\/dev\/null|-|\/dev\/stdout)$/.test(file.value))
      found.push(overwriting('curl', file, false));
  for (const method of valuesOf(read, '-X', '--request'))
    if (!/^(GET|HEAD|OPTIONS)$/.test(method.value)) found.push(requests('curl', method, call));
  for (const socket of valuesOf(read, '--unix-socket'))
    found.push(
      ...(/docker|podman|containerd/.test(socket.value)
        ? []
        : [changes(`curl talks to the socket ${shown(socket)}`)]),
    );
  const secrets = secretsSent(call, shell);
  return [...found, ...urls.flatMap((url) => urlFindings(url, shell)), ...secrets];
};

/** Addresses whose call deletes what is stored, whatever the method. */
const DELETES = /_delete_by_query|\/(prune|purge|destroy|wipe)\b|\/delete\b|[?&]cmd=(rm|delete)/i;

/** A request that is more than a question. What a DELETE has taken is gone. */
function requests(program: string, method: Arg, call: Call): Finding {
  const text = call.args.map(best).join(' ');
  return /^delete$/i.test(best(method)) || DELETES.test(text)
    ? destroys(`${program} deletes what is stored: ${shown(text)}`)
    : changes(`${program} sends a ${shown(method)} request`);
}

/** Private keys and password files among the files that a call sends. */
function secretsSent(call: Call, shell: Shell): Finding[] {
  return call.args
    .map((arg) => ({ ...arg, value: best(arg).replace(/^.*?[@=<](?=[/~.\w])|^file:\/\//i, '') }))
    .filter((arg) => /[/~.]/.test(arg.value) && !/^https?:/i.test(arg.value))
    .flatMap((arg) => readsFile(arg, shell))
    .filter((finding) => finding.risk === 'destructive');
}

function sent(read: Options, call: Call): Finding[] {
  const headers = valuesOf(
    read,
    '-H',
    '--header',
    '-A',
    '--user-agent',
    '-e',
    '--referer',
    '-w',
    '--write-out',
  );
  const open = headers.filter(
    (value) =>
      /\0/.test(value.value) ||
      value.value.startsWith('@') ||
      /%output\{|%\{stderr\}.*@/.test(value.value),
  );
  const query = valuesOf(read, '-d', '--data', '--data-urlencode');
  const asked = has(read, '-G', '--get') && query.every((value) => /^[^@\0]*$/.test(value.value));
  const body =
    !asked &&
    (query.length > 0 ||
      call.args.map(best).some((word) => /^(-F|--form|-T|--upload-file|--json|--data)/.test(word)));
  return [
    ...open.map((value) => changes(`curl sends what is only known at run time: ${shown(value)}`)),
    ...(body ? [requests('curl', literal('POST'), call)] : []),
  ];
}

/** A fetch of a fixed address over http or https; other schemes read files or send mail. */
function urlFindings(url: Parameters<typeof readsFile>[0], shell: Parameters<Check>[1]): Finding[] {
  const text = url.value;
  if (/^file:/i.test(text))
    return [
      ...readsFile({ ...url, value: text.replace(/^file:\/\//i, '') }, shell),
      changes(`reads a file by its address: ${shown(url)}`),
    ];
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) && !/^https?:\/\//i.test(text))
    return [changes(`fetches by another protocol: ${shown(url)}`)];
  if (/^(https?:\/\/)?(169\.254\.|metadata\.|\[?fd00:ec2|100\.100\.100\.200)/i.test(text)) {
    return [changes(`asks the metadata service, which gives out credentials: ${shown(url)}`)];
  }
  if (/\0/.test(text)) {
    const narrow =
      url.holes.every((hole) => hole.kind === 'id') &&
      /^(https?:\/\/)?(localhost|127\.0\.0\.1|\[::1\])(:\d+)?\//.test(text);
    return narrow
      ? []
      : [changes(`fetches an address that is only known at run time: ${shown(url)}`)];
  }
  if (/^(https?:\/\/)?[^/]*@/.test(text))
    return [
      changes(`sends a password in an address: ${shown(text.replace(/\/\/[^@]*@/, '//…@'))}`),
    ];
  return [];
}

const WGET =
  '-q -S -v -4 -6 -T: -t: -O: -U: --quiet --server-response --spider --timeout: --tries: --output-document: --no-check-certificate --header: --user-agent: --max-redirect: --no-verbose --inet4-only --inet6-only --version --help --no-hsts --method: --connect-timeout: --no-proxy';

const wget: Check = (call, shell) => {
  const words = call.args.flatMap((arg) =>
    /^-q?O-$/.test(arg.value)
      ? [
          { ...arg, value: '-q' },
          { ...arg, value: '-O' },
          { ...arg, value: '-' },
        ]
      : /^-qO$/.test(arg.value)
        ? [
            { ...arg, value: '-q' },
            { ...arg, value: '-O' },
          ]
        : arg.value === '-nv'
          ? [{ ...arg, value: '--no-verbose' }]
          : [arg],
  );
  const read = readOptions(words, WGET);
  if (has(read, '--version', '--help')) return problems('wget', read);
  const targets = valuesOf(read, '-O', '--output-document');
  const nowhere =
    has(read, '--spider') ||
    (targets.length > 0 &&
      targets.every((file) => /^(-|\/dev\/null|\/dev\/stdout)$/.test(file.value)));
  const found = problems('wget', read);
  for (const method of valuesOf(read, '--method'))
    if (!/^(GET|HEAD)$/.test(method.value)) found.push(requests('wget', method, call));
  for (const header of valuesOf(read, '--header', '-U', '--user-agent'))
    if (/\0/.test(header.value)) found.push(changes('wget sends what is only known at run time'));
  if (!nowhere) {
    found.push(changes('wget writes a file'));
    found.push(...targets.map((file) => overwriting('wget', file, false)));
  }
  return [
    ...found,
    ...read.operands.flatMap((url) => urlFindings(url, shell)),
    ...secretsSent(call, shell),
  ];
};

export const http: Table = {
  curl: { check: curl },
  wget: { check: wget },
  ...each('aria2c httpie http https xh axel youtube-dl yt-dlp', {
    check: (call) => {
      const method = call.args.find((arg) => /^(delete|put|post|patch)$/i.test(best(arg)));
      return [
        changes(`${call.name} sends requests or writes files`),
        ...(method ? [requests(call.name, method, call)] : []),
      ];
    },
  }),
};
