/** Certificates and keys: what is public may be read, what touches a private key may not. */
import { changes, destroys, isKnown, shown } from '../model.ts';
import type { Check } from '../model.ts';
import { sendsInput, sendsNames } from './hosts.ts';
import { best, given, sure } from './lenient.ts';
import { has, readOptions, valuesOf } from './options.ts';
import { dangerFindings, each, problems, reads, readsFile } from './rules.ts';
import type { Table } from './rules.ts';

/** openssl: certificates are public; whatever touches a private key prints or makes one. */
const openssl: Check = (call, shell) => {
  const [verb, ...rest] = call.args;
  const spec = OPENSSL[verb?.value ?? ''];
  const words = call.args.filter(
    (arg, at) =>
      isKnown(arg) && /[/.]/.test(arg.value) && !USED.test(call.args[at - 1]?.value ?? ''),
  );
  const secret = words.flatMap((arg) => readsFile(arg, shell));
  if (spec === undefined)
    return [
      changes(`openssl ${shown(verb ?? '')} is not known to only read`),
      ...secret.filter((finding) => finding.risk === 'destructive'),
    ];
  const read = readOptions(rest, spec);
  return [
    ...problems(`openssl ${verb?.value}`, read),
    ...sendsNames('openssl', valuesOf(read, '-connect', '-servername', '-verify_hostname')),
    ...(verb?.value === 's_client' ? sendsInput('openssl s_client', call.input) : []),
    // Of a certificate, request or list only itself is shown, whatever else is in the file.
    ...(/^(x509|crl|req)$/.test(verb?.value ?? '')
      ? []
      : valuesOf(read, '-in', '-CAfile', '-cert').flatMap((arg) => readsFile(arg, shell))),
    ...secret.filter((finding) => finding.risk === 'destructive'),
  ];
};

/** Options that write a key, or that sign with one. */
const USED = /^-(out|keyout|key|signkey|keyfile|CAkey|CAkeyout)$/;

const OPENSSL: Readonly<Record<string, string>> = {
  x509: '=in: =noout =text =dates =startdate =enddate =subject =issuer =serial =fingerprint =hash =subject_hash =issuer_hash =email =ocsp_uri =modulus =purpose =pubkey =inform: =checkend: =checkhost: =checkip: =ext: =nameopt: =certopt: =sha256 =sha1 =md5 =sha512 =alias =trustout',
  s_client:
    '=connect: =servername: =showcerts =brief =tls1_2 =tls1_3 =tls1_1 =starttls: =verify_return_error =verify_hostname: =CAfile: =alpn: =status =prexit =4 =6 =no_ign_eof =verify: =cipher: =name:',
  verify: '=CAfile: =untrusted: =verbose =purpose: =crl_check =partial_chain =show_chain',
  version: '=a =v =b =d =o =f',
  ciphers: '=v =V =s =tls1_2 =tls1_3',
  req: '=in: =noout =text =subject =verify =pubkey =modulus',
  crl: '=in: =noout =text =issuer =lastupdate =nextupdate =inform:',
  list: '=commands =digest-commands =cipher-commands =providers',
  rand: '=hex =base64',
  dgst: '=sha256 =sha1 =sha512 =md5 =r',
};

export const keys: Table = {
  ...each('gpg gpg2', {
    check: (call) => {
      const text = call.args.map(best).join(' ');
      if (/--export-secret/.test(text)) return [destroys(`${call.name} gives away private keys`)];
      if (/--delete-secret/.test(text)) return [destroys(`${call.name} deletes private keys`)];
      // Even a listing makes the directory of keys where there is none, and checks the trust in them anew.
      return sure(call) === '--version' ? [] : [changes(`${call.name} uses or changes keys`)];
    },
  }),
  ...each('sops', {
    check: (call) => [
      ...dangerFindings(call, [
        [
          /^(-[di]+|--decrypt|decrypt|exec-env|exec-file|--extract|edit)( |$)|(^| )(-d|--decrypt|--extract)( |$)/,
          'gives away what is encrypted, with its key',
        ],
      ]),
      changes('sops works on secrets'),
    ],
  }),
  ...each('age rage', {
    check: (call) => [
      ...(given(call, 'dij', 'decrypt', 'identity')
        ? [destroys(`${call.name} decrypts with a private key`)]
        : []),
      changes(`${call.name} encrypts or decrypts files`),
    ],
  }),
  ...each('age-keygen rage-keygen', {
    check: (call) => [
      given(call, 'y')
        ? destroys(`${call.name} reads a private key`)
        : changes(`${call.name} makes keys`),
    ],
  }),
  'wg-quick': {
    check: (call) => [
      ...dangerFindings(call, [[/^(strip|save)( |$)/, 'shows private keys']]),
      changes('wg-quick changes a tunnel'),
    ],
  },
  openssl: { check: openssl },
  'ssh-keygen': reads('-vB -l -f: -E: -F:', {
    operands: 'none',
    also: (read, call, shell) => {
      if (has(read, '-l', '-F', '-B'))
        return valuesOf(read, '-f').flatMap((file) => readsFile(file, shell));
      // -y prints what belongs to a key, -e, -p and -i write it anew; what else names one makes it.
      const opens = call.args.some((arg) => /^-\w*[yepi]/.test(arg.value));
      const files = opens ? call.args.filter((arg) => !arg.value.startsWith('-')) : [];
      return [
        changes('ssh-keygen makes or changes keys'),
        ...files
          .flatMap((file) => readsFile(file, shell))
          .filter((finding) => finding.risk === 'destructive'),
      ];
    },
  }),
  'ssh-keyscan': reads('-46cHv -p: -t: -T:', {
    also: (read, call) => sendsNames(call.name, read.operands),
  }),
  'ssh-add': reads('-lLq -E:', {
    also: (read) => (has(read, '-l', '-L') ? [] : [changes('ssh-add changes the agent')]),
  }),
  ...each(
    'certbot',
    reads('-n --non-interactive', {
      also: (read) =>
        /^(certificates|plugins|show_account)$/.test(read.operands[0]?.value ?? '')
          ? []
          : [changes('certbot obtains or changes certificates')],
    }),
  ),
};
