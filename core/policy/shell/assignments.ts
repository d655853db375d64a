/** Assignments: which names may be set without changing how the commands behind them run. */
import { changes } from '../model.ts';
import type { Finding } from '../model.ts';
import type { Assignment } from './parse.ts';

/**
 * Names that the shell itself or the pinned environment gives a meaning. A plain assignment to any other name stays in the shell
 * and reaches no program.
 */
const MEANINGFUL =
  /^(PATH|IFS|ENV|HOME|USER|LOGNAME|SHELL|SHELLOPTS|BASHOPTS|BASH.*|PS\d|PROMPT_.*|CDPATH|GLOB.*|FIGNORE|FUNC.*|HIST.*|INPUTRC|MAIL.*|OPT.*|POSIX.*|PWD|OLDPWD|TMPDIR|TMOUT|TIMEFORMAT|EXECIGNORE|REPLY|RANDOM|SECONDS|LINENO|UID|EUID|GROUPS|PPID|DIRSTACK|COMP.*|COPROC|MAPFILE|READLINE.*|SRANDOM|EPOCH.*|LD_.*|DYLD_.*|GCONV.*|NLSPATH|LOCPATH|TERM.*|.*PAGER|LESS.*|MORE|MAN.*|SYSTEMD_.*|GIT_.*|DEBIAN_.*|EDITOR|VISUAL|BROWSER|LANG|LC_.*|KUBECONFIG|DOCKER_.*|PYTHON.*|PERL.*|RUBY.*|NODE_.*|JAVA.*|_JAVA.*|http_proxy|https_proxy|ftp_proxy|all_proxy|no_proxy)$/;

/** Variables that only change how output looks, and may stand in front of any command or be exported. */
const HARMLESS_EXPORTS =
  /^(LC_(ALL|CTYPE|COLLATE|MESSAGES|NUMERIC|TIME|MONETARY)|LANG|LANGUAGE|TZ|COLUMNS|LINES|NO_COLOR|CLICOLOR|TIME_STYLE|BLOCKSIZE|BLOCK_SIZE|POSIXLY_CORRECT_NOT|SYSTEMD_COLORS|SYSTEMD_URLIFY|FORCE_COLOR)$/;

/** What speaks against setting a variable for the shell itself. */
export function assignmentFindings(name: string): Finding[] {
  if (/^[A-Za-z_]\w*$/.test(name) && !MEANINGFUL.test(name)) return [];
  return [changes(`sets ${name}, which changes how commands behind it run`)];
}

/** Who logs in where: variables of database clients that choose a server and an account, and nothing else. */
const CLIENTS: readonly (readonly [RegExp, RegExp])[] = [
  [/^(psql|pg_isready)$/, /^PG(PASSWORD|USER|DATABASE|HOST|PORT|CONNECT_TIMEOUT)$/],
  [/^(mysql|mariadb|mysqladmin|mariadb-admin|mysqlshow)$/, /^MYSQL_PWD$/],
  [/^(redis-cli|valkey-cli)$/, /^REDISCLI_AUTH$/],
];

/** What speaks against an assignment in front of a command, which goes into that command's environment. */
export function prefixFindings(assignment: Assignment, command: string): Finding[] {
  if (environmentNameHarmless(assignment.name) && harmlessValue(assignment)) return [];
  if (assignment.name === 'IFS' && command === 'read') return [];
  const logsIn = CLIENTS.some(
    ([client, names]) => client.test(command) && names.test(assignment.name),
  );
  if (logsIn && harmlessValue(assignment)) return [];
  return [changes(`runs ${command || 'a command'} with ${assignment.name} set`)];
}

/** True when setting the environment variable for a program can only change how its output looks. */
export function environmentNameHarmless(name: string): boolean {
  return HARMLESS_EXPORTS.test(name);
}

/** A locale or zone names a file below the system's own directories; one with a slash in front could name any. */
function harmlessValue(assignment: Assignment): boolean {
  return (
    assignment.value.type === 'Word' &&
    !assignment.value.parts &&
    /^[\w:.+,/@=-]*$/.test(assignment.value.value) &&
    !/^\/|^:?\/|\.\./.test(assignment.value.value)
  );
}
