/**
 * The environment that a verdict assumes. What was classified is what must run (P2): a command that is harmless with these
 * values may run another program with others (`PAGER`, `GIT_EXTERNAL_DIFF`, `LESSOPEN`, `SYSTEMD_PAGER` …).
 *
 * The runner must
 * - start from nothing (`env -i`) and set exactly these values, plus `HOME`, `USER` and `LOGNAME` of the user it runs as;
 * - use `bash --noprofile --norc` where there is bash, else `sh`; never a login or interactive shell;
 * - give it no terminal, and `/dev/null` as standard input;
 * - set a time limit on every command, reads as well (`journalctl -f` is read-only and never ends by itself).
 *
 * Why each value is here:
 * - `PATH`: bare command words are taken for the system's own programs. Only directories that root alone can write to.
 * - `LANG`, `LC_ALL`: one locale, so that ranges, sorting and messages are the same everywhere.
 * - `TERM=dumb`: no program draws, asks a terminal or starts a pager for one.
 * - `PAGER`, `GIT_PAGER`, `MANPAGER`, `SYSTEMD_PAGER`: no pager that could run commands. systemd takes the empty value for
 *   "none"; `SYSTEMD_LESS` and `LESSSECURE` bind a `less` that is called by name.
 * - `GIT_CONFIG_COUNT` and its keys: git runs programs that a repository's own configuration names. These settings win over the
 *   repository's: no file system monitor, no signature checks in logs, no pager. `GIT_SSH_COMMAND` wins over a configured ssh.
 *   Two cannot be switched off from here: an empty `diff.external` makes git 2.39 fail, and `textconv` is set per file type. Both
 *   need a write to the repository's configuration first, which is a change that waits for a person.
 * - `GIT_OPTIONAL_LOCKS=0`: `git status` does not rewrite the index. `GIT_TERMINAL_PROMPT=0`: it never asks.
 * - `DEBIAN_FRONTEND`: apt and dpkg ask nothing.
 * - `NPM_CONFIG_*`: npm keeps no log of a call and asks nobody for a newer npm. `CHECKPOINT_DISABLE`: neither does Terraform, which
 *   would write the answer down.
 */
export const PINNED_ENV: Readonly<Record<string, string>> = Object.freeze({
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LANG: 'C.UTF-8',
  LC_ALL: 'C.UTF-8',
  TERM: 'dumb',
  PAGER: 'cat',
  MANPAGER: 'cat',
  SYSTEMD_PAGER: '',
  SYSTEMD_LESS: '',
  SYSTEMD_COLORS: '0',
  LESSSECURE: '1',
  GIT_PAGER: 'cat',
  GIT_EDITOR: 'false',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_ASKPASS: 'false',
  GIT_SSH_COMMAND: 'ssh',
  GIT_CONFIG_COUNT: '3',
  GIT_CONFIG_KEY_0: 'core.fsmonitor',
  GIT_CONFIG_VALUE_0: 'false',
  GIT_CONFIG_KEY_1: 'log.showSignature',
  GIT_CONFIG_VALUE_1: 'false',
  GIT_CONFIG_KEY_2: 'core.pager',
  GIT_CONFIG_VALUE_2: 'cat',
  DEBIAN_FRONTEND: 'noninteractive',
  NPM_CONFIG_LOGS_DIR: '/dev/null',
  NPM_CONFIG_UPDATE_NOTIFIER: 'false',
  CHECKPOINT_DISABLE: '1',
});
