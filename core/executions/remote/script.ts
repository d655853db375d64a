import { FOLLOW, SETTLED, STATE, SUPERVISE } from './script-change.ts';
import { COMPARE, PREAMBLE, SESSION, SPAWN, TAKE_COMMAND } from './script-parts.ts';

/**
 * The scripts that targets run, as fixed text. They must work in dash, bash, BusyBox ash and their like, without /bin/bash,
 * GNU options or Perl, and must hold no single quote and no doubled backslash, so that every login shell hands them
 * on unchanged between single quotes. What they answer is told in `protocol.ts`.
 *
 * They are run by `eval` with the script itself as $1 (so that it can start itself again), the action as $2, the id as $3 and, for
 * `start` and `read`, the command's length in bytes, the time limit and the grace in milliseconds as $4, $5 and $6, and for a start whose
 * files are fixed the length of their list as $7.
 */

/** Runs one read: nothing is kept; the end of standard input or the time limit ends it. */
export const READ_SCRIPT = compact(`${PREAMBLE}needs=
${TAKE_COMMAND}
limit=$5 grace=$6
${SPAWN}${SESSION}
exec 3<&0 </dev/null
say started $sh
halted=
trap "halted=1" USR1
spawn
exec 2>/dev/null
( read -r x <&3; halt ) >/dev/null & w=$!
exec 3<&-
timer $limit >/dev/null & t=$!
wait $p; r=$?
kill $w $t
kill -s KILL -- "-$p"
[ -n "$halted" ] || exit $r
wait $w; a=$?
wait $t
case $a$? in *11*) exit 252 ;; *) exit 253 ;; esac
`);

/** Starts, follows and ends changes. */
export const WRAPPER_SCRIPT = compact(`
${PREAMBLE}${STATE}${SESSION}${SETTLED}${FOLLOW}${SPAWN}${SUPERVISE}
grace=3000
case $2 in
start)
  if [ ! -d "$d" ]; then
    needs="dd cat tail tee ls ln mkfifo mv find"
${TAKE_COMMAND}${COMPARE}
    prepare_state
  fi
  if [ ! -d "$d" ] && mkdir -m 700 "$d" 2>/dev/null; then
    m=$(fill_in 2>&1) || {
      claim void
      refuse state "$d cannot be written, is the disk full? $m"
    }
    cd "$d" || exit 1
    exec 8<>live
    [ -n "$own" ] || set -m
    C=$c OWN=$own SHELL_NAME=$sh $own sh -c "eval \\"\\$1\\"" nomos1 "$1" supervise "$id" 0 "$5" "$6" </dev/null >/dev/null 2>&1 &
    exec 9<live 8<&-
    was=$boot
    say started $sh
    follow
  fi
  settled
  say exists $sh
  exec 8<>live 9<live 8<&-
  follow ;;
attach)
  prepare_state
  settled
  say attached $sh
  exec 8<>live 9<live 8<&-
  follow ;;
cancel)
  prepare_state
  settled
  exec 2>/dev/null
  if [ ! -e exit ]; then
    exec 7<>ctl
    echo cancel >&7
    supervisor_ends
  fi
  if [ -e exit ]; then ended; else gone end; fi ;;
supervise)
  c=$C own=$OWN sh=$SHELL_NAME bare= limit=$5 grace=$6
  [ $sh = sh ] || bare="--noprofile --norc"
  supervise ;;
esac
`);

/** Without comments and indentation: it travels with every command. */
function compact(script: string): string {
  const text = script
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
  if (/['~^]|\\\\/.test(text))
    throw new Error('A target script holds a single quote, a doubled backslash, "~" or "^".');
  return text;
}
