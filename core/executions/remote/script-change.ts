/** A change's output is kept on the target up to this much per stream, so that no command can fill its disk. */
export const TARGET_OUTPUT_CAP_BYTES = 8 * 1024 * 1024;

/** Past the cap the very end of each stream is kept as well. Half of what is kept here of a stream, so that it fits whole. */
export const TARGET_TAIL_BYTES = 512 * 1024;

/** What is left of an execution on a target goes after this many days. */
export const TARGET_KEEP_DAYS = 7;

/** How long the output of a command that has ended is waited for when something it started still holds it open, in seconds. */
const DRAIN_SECONDS = 1;

/**
 * The files of one execution, in <state>/<id>:
 *   go         a link, made once: to "live" by who runs the command, to nothing by who gave the id up. A link needs no room on
 *              a full disk.
 *   meta       the shell and the boot that it was started in
 *   live       a pipe that the supervisor holds open: reading it blocks until the supervisor is gone
 *   ctl        a pipe that takes the word to cancel
 *   o e done   pipes from the command to what keeps its output, and the word that all of it is kept
 *   out err    the output up to the cap; .tail: the end of all, where there was more; .count: what dd says, with the number of all bytes
 *   pid        the command's process, and its start time
 *   exit       cause, exit code, whether its session is gone, milliseconds; made whole, by a rename
 * What is older than a week goes, by the target's clock; not what still runs, since that clock may jump.
 * The room of exit and .count on the disk is taken before the start, so that a command that fills it is still told truthfully.
 */
export const STATE = `
if [ -n "\${NOMOS_STATE_DIR:-}" ]; then base=$NOMOS_STATE_DIR
elif [ -O / ]; then base=/var/lib/nomos
elif [ -n "\${HOME:-}" ]; then base=$HOME/.local/state/nomos
else refuse state this user has no home directory
fi
state=$base/executions
d=$state/$id
boot=none
{ read -r boot </proc/sys/kernel/random/boot_id; } 2>/dev/null
prepare_state() {
  [ -d "$base" ] || m=$( { mkdir -p "$base" && chmod 700 "$base"; } 2>&1 ) || refuse state "$m"
  [ -d "$state" ] || m=$( { mkdir -p "$state" && chmod 700 "$state"; } 2>&1 ) || refuse state "$m"
  [ -O "$base" ] && [ -O "$state" ] || refuse state "$state belongs to someone else"
}
claim() { ln -s "$1" "$d/go" 2>/dev/null; }
fill_in() {
  cd "$d" && mkfifo live ctl o e done && : >out && : >err && echo "$sh $boot" >meta &&
  printf "%62s\\n" "" >exit.new && printf "%200s\\n" "" >out.count && printf "%200s\\n" "" >err.count
}
give_up() {
  claim void || :
  [ -e "$d/go" ] || { say void; exit 0; }
}
`;

/** Waits until it is settled whether this id runs or was given up; whoever waits in vain gives it up. */
export const SETTLED = `
settled() {
  if mkdir -m 700 "$d" 2>/dev/null; then give_up; fi
  [ -d "$d" ] || refuse state "$d cannot be made: $(mkdir "$d" 2>&1)"
  n=100
  while [ ! -h "$d/go" ] && [ $n -gt 0 ]; do nap; n=$((n - 1)); done
  give_up
  cd "$d" || exit 1
  sh=sh was=
  read -r sh was <meta
}
supervisor_ends() { exec 8<>live 9<live 8<&-; read -r x <&9; }
gone() {
  why=lost alive=0 rest=$1
  [ "$was" = "$boot" ] || why=rebooted
  if [ $why = lost ] && read -r p started <pid; then
    { read -r l <"/proc/$p/stat"; } 2>/dev/null && { set -- \${l##*") "}; [ "\${20}" = "$started" ] || p=; }
    if [ -n "$p" ] && left; then
      [ $rest = keep ] || ( stop )
      ! left || alive=1
    fi
  fi
  say gone $why $alive
}
`;

/** Hands on the output of a change as it grows, from its start, then its end. */
export const FOLLOW = `
send() {
  r=$(( $2 - $3 ))
  while [ $r -gt 0 ]; do
    k=$r
    [ $k -le 262144 ] || k=262144
    { printf "%s %s\\n" $1 $k && dd bs=$k count=1 <&$4 2>/dev/null; } || { kill $$; exit 1; }
    r=$((r - k)) z=0.05
  done
}
pump() {
  fin=$1 s= o=0 e=0 z=0.05 idle=0 whole=
  trap "" PIPE
  trap "fin=1; kill \\$s" TERM
  while :; do
    f=$fin
    set -- $(ls -ln err out)
    send o \${14} $o 5; o=\${14}
    send e $5 $e 6; e=$5
    [ $f = 0 ] || exit 0
    case $z in 0.05) z=0.1 idle=0 ;; 0.1) z=0.2 ;; 0.2) z=0.5 ;; 0.5) z=1 ;; *) idle=$((idle + 1)) ;; esac
    [ $((idle % 5)) != 4 ] || printf "k\\n" || { kill $$; exit 1; }
    sleep \${whole:-$z} >/dev/null 5<&- 6<&- 9<&- & s=$!
    [ $fin = 1 ] || wait $s || [ $fin = 1 ] || whole=1
  done
}
total() {
  t=
  while read -r y x; do case $x in bytes*) t=$y ;; esac; done <$1.count
  case $t in ""|*[!0-9]*) t=$2 ;; esac
}
tail_of() {
  [ -e $2.tail ] || return 0
  set -- $1 $2 $(ls -ln $2) $(ls -ln $2.tail)
  total $2 $7
  t=$((t - $7))
  [ $t -le \${16} ] || t=\${16}
  [ $t -gt 0 ] || return 0
  printf "%s %s\\n" $1 $t
  tail -c $t $2.tail
}
ended() {
  read -r why code gone ms <exit
  set -- $(ls -ln err out)
  total out \${14}; to=$t
  total err $5
  say end $why $code $gone $ms $to $t
}
follow() {
  exec 5<out 6<err 2>/dev/null
  ( pump 0 ) & pp=$!
  read -r x <&9
  kill -s TERM $pp
  wait $pp || ( pump 1 )
  if [ -e exit ]; then tail_of O out; tail_of E err; ended; else [ ! -e live ] || give_up; gone keep; fi
  exit 0
}
`;

/** Runs a change and keeps its output and its end, whoever listens. */
export const SUPERVISE = `
keep() {
  dd bs=65536 <$1 2<>$2.count |
    ( trap "" XFSZ; ulimit -c 0; ulimit -f ${TARGET_OUTPUT_CAP_BYTES / 512} && exec tee $2 || exec cat ) |
    tail -c ${TARGET_TAIL_BYTES} >$2.tail
  set -- $2 $(ls -ln $2)
  total $1 $6
  [ $t -gt $6 ] || : >$1.tail
  echo x >&6
}
uptime() { u=0.00; { read -r u x </proc/uptime; } 2>/dev/null; x=\${u#*.}; u=$(( \${u%.*} * 1000 + \${x#0} * 10 )); }
supervise() {
  cd "$d" || exit 1
  exec 6<>done 7<>ctl
  claim live || exit 0
  uptime; since=$u
  ( keep o out ) 7<&- 8<&- &
  ( keep e err ) 7<&- 8<&- &
  spawn >o 2>e
  { read -r l <"/proc/$p/stat"; } 2>/dev/null && set -- \${l##*") "} && echo "$p \${20}" >pid
  halted=
  trap "halted=1" USR1
  ( read -r x <&7; halt ) 6<&- 8<&- & w=$!
  ( timer $limit ) 6<&- 7<&- 8<&- & t=$!
  wait $p; r=$? why=exit gone=1
  kill $w $t
  if [ -n "$halted" ]; then
    wait $w; a=$?
    wait $t; b=$?
    wait $p; x=$?
    case $x in 127|*[!0-9]*) r=143 ;; *) r=$x ;; esac
    case $b in 10|11) why=timeout ;; esac
    case $a in 10|11) why=cancel ;; esac
    [ $a != 11 ] && [ $b != 11 ] || gone=0
  fi
  ( sleep ${DRAIN_SECONDS}; echo t; echo t ) >&6 7<&- 8<&- & t=$!
  read -r x <&6
  read -r x <&6
  kill $t
  uptime
  printf "%-62s\\n" "$why $r $gone $((u - since))" 1<>exit.new && mv exit.new exit
  exec 8<&-
  find "$state/." ! -name . -prune -type d -mtime +${TARGET_KEEP_DAYS} | while read -r f; do clean; done
}
clean() {
  cd "$f" || return
  if [ -e go ] && [ ! -e exit ] && read -r x was <meta && [ "$was" = "$boot" ]; then
    read -r p x <pid || return
    read -r l <"/proc/$p/stat" && set -- \${l##*") "} && [ "\${20}" = "$x" ] && return
  fi
  rm -rf "$f"
}
`;
