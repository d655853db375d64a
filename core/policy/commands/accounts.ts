/** Accounts and sessions: who there is, who is here, and who may come in. */
import { changes, destroys, shown } from '../model.ts';
import type { Call, Check, Finding } from '../model.ts';
import { sendsNames } from './hosts.ts';
import { best, given, operandsOf, sure, targets } from './lenient.ts';
import { has, readOptions } from './options.ts';
import { each, ids, mutates, numbers, problems, reads } from './rules.ts';
import type { Table } from './rules.ts';

const getent: Check = (call) => {
  const read = readOptions(call.args, '-i -s: --no-idn --service: --version --help');
  const database = read.operands[0]?.value ?? '';
  if (/^g?shadow$/.test(database)) return [destroys('getent shadow reads password hashes')];
  return [
    ...problems('getent', read),
    ...(/^(hosts|ahosts|ahostsv4|ahostsv6|networks)$/.test(database)
      ? sendsNames('getent', read.operands.slice(1))
      : []),
    ...(/\0/.test(database) ? [changes('getent: the database is only known at run time')] : []),
  ];
};

/** An administrator's account that is locked or loses its shell keeps everyone out. */
const rootLocked = (call: Call): Finding[] => {
  const text = call.args.map(best).join(' ');
  const locks =
    /(^| )(-L|--lock|-l|(-e|-E|--expiredate)[= ]?(1|0|19\d\d-[\d-]+)|-d|--delete|(-s|--shell)[= ]?\S*(nologin|false))( |$)/.test(
      text,
    );
  return locks && /(^| )root$/.test(text)
    ? [destroys(`${call.name} locks the administrator out: ${shown(text)}`)]
    : [];
};

const chage = reads('-li --list --iso8601 --help', {
  also: (read, call) =>
    has(read, '-l', '--list') ? [] : [...rootLocked(call), changes('chage changes an account')],
});
const passwd = reads('-Sa --status --all', {
  also: (read, call) =>
    has(read, '-S', '--status') ? [] : [...rootLocked(call), changes('passwd changes an account')],
});

/** Groups whose members may do what root may, or may log in at all. */
const ADMINS = /^(sudo|wheel|root|admin|ssh\w*)$/;

export const accounts: Table = {
  ...each(
    'who',
    reads(
      '-abdHlmpqrstTuw --all --boot --dead --heading --login --lookup --count --runlevel --short --time --users --message --mesg --writable --help --version',
    ),
  ),
  w: reads('-hsfiou -p --no-header --short --from --old-style --ip-addr --pids', {
    operands: 'names',
  }),
  ...each(
    'last lastb',
    reads(
      '-adFiRwxT -n: -f:@ -s: -t: -p: -# --hostlast --dns --fulltimes --ip --nohostname --fullnames --system --limit: --since: --until: --present: --time-format: --help --version',
    ),
  ),
  lastlog: reads('-b: -t: -u: --before: --time: --user:', { operands: 'none' }),
  ...each(
    'id',
    reads('-aGgnruzZ --context --group --groups --name --real --user --zero --help --version', {
      anyOption: true,
      output: (call) => (/^-[ug]( \w[\w.-]*)?$/.test(sure(call)) ? numbers() : ids()),
    }),
  ),
  ...each('groups users finger', reads('-lsmp --help --version')),
  getent: { check: getent },
  chage,
  passwd,
  faillog: reads('-a -u:', { operands: 'none' }),
  ...each('userdel deluser', {
    check: (call) => [
      given(call, 'r', 'remove', 'remove-home', 'remove-all-files') ||
      call.args.some((arg) => best(arg) === 'root') ||
      (call.name === 'deluser' && operandsOf(call).some((arg) => ADMINS.test(best(arg))))
        ? destroys(`${call.name} deletes a user with home and mail`)
        : changes(`${call.name} deletes a user`),
    ],
  }),
  ...each('usermod chsh', {
    check: (call) => [...rootLocked(call), changes(`${call.name} changes an account`)],
  }),
  ...each(
    'useradd adduser groupadd groupmod chpasswd chfn visudo-edit newusers pwconv',
    mutates('changes accounts'),
  ),
  gpasswd: {
    check: (call) => [
      given(call, 'd', 'delete') && operandsOf(call).some((arg) => ADMINS.test(best(arg)))
        ? destroys(`gpasswd takes an administrator's rights: ${targets(call)}`)
        : changes('changes accounts'),
    ],
  },
  ...each('groupdel delgroup', {
    check: (call) => [
      operandsOf(call).some((arg) => ADMINS.test(best(arg)))
        ? destroys(`${call.name} locks the administrators out: ${targets(call)}`)
        : changes('changes accounts'),
    ],
  }),
  vipw: {
    check: (call) => [
      given(call, 's', 'shadow')
        ? destroys('vipw -s opens the file of password hashes')
        : changes('vipw changes accounts'),
    ],
  },
  faillock: reads('--user:', { operands: 'none' }),
};
