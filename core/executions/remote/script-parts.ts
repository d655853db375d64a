import { PINNED_ENV } from '../../policy/environment.ts';
import { MAX_SCRIPT_BYTES } from '../scripts.ts';

/** `NAME="value" …` for `env`; the values are our own constants, checked here to need no further quoting. */
const ENVIRONMENT = Object.entries(PINNED_ENV)
  .map(([name, value]) => {
    if (!/^[\w./:-]*$/.test(value))
      throw new Error(`The pinned value of ${name} would need quoting.`);
    return `${name}=${value}`;
  })
  .join(' ');

/** What every script begins with. */
export const PREAMBLE = `
LC_ALL=C PATH=${PINNED_ENV['PATH'] ?? ''}
export LC_ALL PATH
unset TIME_STYLE
id=$3
h=\${HOME:-/}
say() { printf "nomos1 %s\\n" "$*" || exit 1; }
refuse() { say refused "$@"; exit 0; }
nap() { sleep 0.05 2>/dev/null || sleep 1; }
say begin "$id"
`;

/** Reads the command, then finds what is needed to run it in a session of its own: setsid, or a shell with job control. */
export const TAKE_COMMAND = `
take() {
  IFS= read -r l || refuse command the command did not arrive whole
  case $l in
  =*) c=\${l#=} ;;
  *) c=$(printf "%bx" "$l"); c=\${c%x} ;;
  esac
  [ "\${#c}" = "$1" ] || refuse command the command arrived damaged
}
fixed=
[ -z "\${7:-}" ] || { take $7; fixed=$c needs="$needs head sha256sum"; }
take $4
for x in env sleep $needs; do command -v $x >/dev/null || refuse tools "there is no $x on the target"; done
if command -v setsid >/dev/null; then own=setsid
elif [ -z "$( (set -m) 2>&1 )" ]; then own=
else refuse tools there is no setsid on the target
fi
if command -v bash >/dev/null; then sh=bash bare="--noprofile --norc"; else sh=sh bare=; fi
`;

/** Lets nothing start when a file is not what it was when the command was asked for: $fixed has lines of hash and path. */
export const COMPARE = `
changed() {
  cd "$h" 2>/dev/null || cd /
  printf "%s\\n" "$fixed" | while read -r want f; do
    got=$( { [ -f "$f" ] && head -c ${MAX_SCRIPT_BYTES + 1} <"$f"; } 2>/dev/null | sha256sum )
    [ "\${got%% *}" = "$want" ] || { echo "$f"; break; }
  done
}
[ -z "$fixed" ] || x=$(changed)
[ -z "$fixed" ] || [ -z "$x" ] || refuse changed "$x"
`;

/** Runs $c in a session of its own, in the background; its pid, which is also its group and session, is $p. */
export const SPAWN = `
spawn() {
  [ -n "$own" ] || set -m
  ( cd "$h" 2>/dev/null || cd /
    exec $own env -i HOME="$h" USER="\${USER:-}" LOGNAME="\${LOGNAME:-}" ${ENVIRONMENT} $sh $bare -c "$c"
  ) 3<&- 6<&- 7<&- 8<&- &
  p=$!
  [ -n "$own" ] || set +m
}
`;

/**
 * Everything of session or group $p: `left` tells whether there is any of it, `hit` signals it, `stop` ends it and exits
 * with 10 if that is proven, 11 if something is left. A zombie is not left: it only waits to be counted. `halt` tells the main
 * shell, which waits for the command, that its end is not its own, then stops it; `timer` halts after $1 milliseconds.
 */
export const SESSION = `
each() {
  for f in /proc/[0-9]*/stat; do
    { read -r l <"$f"; } 2>/dev/null || continue
    set -- "$1" \${l##*") "}
    case $2 in Z|X) continue ;; esac
    [ "$4" = "$p" ] || [ "$5" = "$p" ] || continue
    [ -n "$1" ] || return 0
    f=\${f#/proc/}
    kill -s "$1" "\${f%/stat}"
  done
  [ -n "$1" ]
}
left() { if [ -r /proc/self/stat ]; then each ""; else kill -s 0 -- "-$p"; fi; }
hit() { kill -s "$1" -- "-$p"; [ ! -r /proc/self/stat ] || each "$1"; }
stop() {
  exec 2>/dev/null
  kill -s TERM "$p"
  hit TERM
  n=$(( $grace / 50 ))
  while nap; left && [ $n -gt 0 ]; do n=$((n - 1)); done
  n=40
  while left && [ $n -gt 0 ]; do hit KILL; nap; n=$((n - 1)); done
  left && exit 11
  exit 10
}
halt() {
  trap "" TERM
  kill -s USR1 $$
  stop
}
timer() {
  s=
  trap "kill \\$s; exit 0" TERM
  n=$(( $1 / 1000 )) f=$(( $1 % 1000 ))
  case $f in ?) f=00$f ;; ??) f=0$f ;; esac
  sleep $n.$f & s=$!
  wait $s || { sleep $((n + 1)) & s=$!; wait $s; }
  halt
}
`;
