/** Firewalls: listing their rules is harmless, emptying or opening them is not. */
import { changes, destroys, shown } from '../model.ts';
import type { Check, Finding } from '../model.ts';
import { best, given } from './lenient.ts';
import { has, readOptions } from './options.ts';
import { dangerFindings, each, listing, problems, reads, verbs } from './rules.ts';
import type { Table } from './rules.ts';
import { joinedWords } from './wrappers.ts';

/** iptables and its kin: listing is harmless, emptying is not. */
const iptables: Check = (call) => {
  const text = call.args.map(best).join(' ');
  const danger: Finding[] = [];
  if (
    call.args.some(
      (arg) => /^-[a-zA-Z46]*F|^--fl/.test(best(arg)) && !/^-[a-z]*[jtp]/.test(best(arg)),
    )
  )
    danger.push(destroys(`${call.name} empties the firewall: ${shown(text)}`));
  if (call.args.some((arg) => /^-X$|^--delete-chain$/.test(best(arg))))
    danger.push(destroys(`${call.name} deletes firewall chains: ${shown(text)}`));
  if (/(-P|--policy) (INPUT|FORWARD|OUTPUT) (ACCEPT|DROP)/.test(text))
    danger.push(destroys(`${call.name} opens or closes the whole firewall: ${shown(text)}`));
  const read = readOptions(
    call.args,
    '-46nvx -w? -t: -L? -S? --list? --list-rules? --numeric --verbose --exact --line-numbers --table: --wait? --version --help',
  );
  const listed = has(read, '-L', '-S', '--list', '--list-rules', '--version', '--help');
  return danger.length > 0
    ? danger
    : listed
      ? problems(call.name, read)
      : [changes(`${call.name} changes the firewall`)];
};

const nft: Check = (call) => {
  const read = readOptions(
    call.args,
    '-ajnsSyNpTt --handle --json --numeric --stateless --terse --version --help',
  );
  const text = joinedWords(read.operands).value;
  const all = `${text}\n${call.input.texts.join('\n')}`;
  if (/\bflush\s+(ruleset|table|chain)|\bdelete\s+(table|chain)|\bdestroy\b/.test(all))
    return [destroys(`nft empties the firewall: ${shown(all)}`)];
  const listing =
    /^(list (ruleset|tables|table|chains|chain|sets|set|maps|map|rules|counters|flowtables)\b[\w .:@-]*)?$/.test(
      text,
    );
  return listing && (text !== '' || has(read, '--version', '--help'))
    ? problems('nft', read)
    : [changes('nft changes the firewall')];
};

const ufw = verbs({
  read: {
    status: reads(''),
    version: reads(''),
    app: verbs({ read: { 'list info': reads('') } }),
    show: reads(''),
  },
  danger: [[/(^| )(--force )?(disable|reset)( |$)/, 'switches the firewall off']],
});

const firewallCmd: Check = (call) => {
  const text = call.args.map(best).join(' ');
  const read = readOptions(
    call.args,
    '-q --state --list-all --list-all-zones --list-services --list-ports --list-rich-rules --list-interfaces --list-sources --list-forward-ports --get-default-zone --get-active-zones --get-zones --get-services --get-icmptypes --get-zone-of-interface: --info-zone: --info-service: --query-service: --query-port: --query-panic --zone: --permanent --version --help --direct --get-all-rules --get-all-chains',
  );
  if (/--panic-on|--reset-to-defaults/.test(text))
    return [destroys(`firewall-cmd cuts or resets the network: ${shown(text)}`)];
  return problems('firewall-cmd', read);
};

const conntrack: Check = (call) => {
  const read = readOptions(
    call.args,
    '-LCSn -p: -s: -d: -f: -o: --dump --count --stats --proto: --src: --dst: --output: --orig-src: --orig-dst: --sport: --dport:',
  );
  return has(read, '-L', '-C', '-S', '--dump', '--count', '--stats')
    ? problems('conntrack', read)
    : [
        given(call, 'F', 'flush')
          ? destroys('conntrack -F drops all connections')
          : changes('conntrack changes connections'),
      ];
};

const restore: Check = (call) => [destroys(`${call.name} replaces the whole firewall`)];

const IPSET = listing(
  '-n -s -t -o: --name --sorted --terse --output:',
  /^(list|save|test)( \S+)*$/,
  'changes address sets',
);

export const firewall: Table = {
  ...each(
    'iptables ip6tables ebtables arptables iptables-legacy iptables-nft ip6tables-legacy ip6tables-nft',
    { check: iptables },
  ),
  ...each(
    'iptables-save ip6tables-save ebtables-save arptables-save',
    reads('-c -t: --counters --table: --version', { operands: 'none' }),
  ),
  ...each('iptables-restore ip6tables-restore ebtables-restore', { check: restore }),
  ipset: {
    check: (call, shell) => [
      ...dangerFindings(call, [
        [/(^| )(flush|destroy|-F|-X|--flush|--destroy)( |$)/, 'wipes address sets of the firewall'],
      ]),
      ...IPSET.check(call, shell),
    ],
  },
  nft: { check: nft },
  ufw,
  'firewall-cmd': { check: firewallCmd },
  'fail2ban-client': listing(
    '',
    /^(status( \S+)?|ping|version|banned|get \S+ (banip|maxretry|bantime|findtime|logpath|ignoreip))$/,
    'changes bans',
  ),
  conntrack: { check: conntrack },
};
