import { afterAll, describe, expect, it } from 'vitest';
import { buildFleet } from '../fleet.ts';
import { withLiveOutput } from './live.ts';

const outputs = { stdout: '/dev/.live/1', stderr: '/dev/.live/2', token: 'T' };
const shell = buildFleet(0.001).hosts.find(({ slug }) => slug === 'host:web-1')?.shell;
afterAll(() => shell?.machine.halt());

async function run(
  command: string,
): Promise<{ stdout: string; stderr: string; end: unknown; pieces: number }> {
  const said = { stdout: '', stderr: '', pieces: 0 };
  const end = await shell?.run({
    command,
    signal: AbortSignal.timeout(5_000),
    output: (stream, bytes) => {
      said[stream] += bytes.toString();
      said.pieces += 1;
    },
  });
  return { ...said, end };
}

describe('output while a script runs', () => {
  it('leaves a script without slow commands as it is', () => {
    expect(withLiveOutput('ls | wc -l; echo x', outputs)).toBe('ls | wc -l; echo x');
  });

  it('lets each statement write when it is done, and a slow one at once', () => {
    const script = withLiveOutput('echo a; apt-get update', outputs);
    expect(script).toContain('{ echo a; } >> /dev/.live/1 2>> /dev/.live/2');
    expect(script).toContain('DEMO_FLEET_LIVE=T apt-get update');
  });

  it.each([
    'apt-get update | tail -1',
    'x=$(apt-get update)',
    'apt-get update > /tmp/x',
    "sh -c 'apt-get update'",
  ])('does not let a command whose output goes elsewhere write at once: %s', (script) => {
    expect(withLiveOutput(`sleep 0; ${script}`, outputs)).not.toMatch(/LIVE=T apt/);
  });

  it.each([
    'exec > /tmp/x; sleep 1',
    'false | sleep 0; echo ${PIPESTATUS[0]}',
    'sleep 1; echo $_',
    'set -eu; sleep 1',
  ])('leaves alone what would notice: %s', (script) => {
    expect(withLiveOutput(script, outputs)).toBe(script);
  });

  it("leaves alone what cannot be written back exactly, such as $'\\n'", () => {
    const script = "sleep 0; echo $'a\\nb'";
    expect(withLiveOutput(script, outputs)).toBe(script);
  });

  it('leaves what is no script to the shell', async () => {
    expect((await run('sleep 0; if')).stderr).toContain('syntax error');
  });

  // Each script is run as it is and once more behind a slow command, which makes it be rewritten.
  it.each([
    'echo a; echo b >&2; echo c',
    'cd /etc; pwd; X=1; export Y=2; echo $X $Y; (cd /; pwd); pwd',
    'false; echo $?; ! false; echo $?; false && echo no || echo yes',
    'set -e; echo a; false; echo b',
    'set -u; echo $UNSET_NAME; echo after',
    'set -o pipefail; false | true; echo $?',
    'echo a; exit 5; echo b',
    'f() { echo in $1; return 3; }; f x; echo $?',
    'for i in 1 2 3; do [ $i = 2 ] && continue; echo $i; done; echo end',
    'if true; then echo y; else echo n; fi; case b in a|b) echo ab;; esac',
    'cat <<EOF\nhere $((1+2))\nEOF\necho after',
    'cat <<"EOF" | tr a-z A-Z\nkept $x\nEOF',
    'echo a > /tmp/f; cat /tmp/f; cat < /tmp/f; echo b >> /tmp/f; wc -l < /tmp/f',
    'printf "%s\\n" "a  b" \'c"d\' e\\ f; echo {1..3} *.none ~',
    'a=(1 2 3); echo ${a[@]} ${#a[@]}; [[ ab =~ ^a ]] && echo m; (( 1 + 1 )) && echo t',
    'echo out; echo err >&2; nonexistent-command; echo $?',
    'while read -r l; do echo "<$l>"; done <<< "x y"; until true; do :; done',
    'echo no newline | tr -d "\\n"; printf end',
    'sleep 0 & wait; echo $?',
  ])('does not change what a script says or how it ends: %s', async (script) => {
    const plain = await run(script);
    const rewritten = await run(`sleep 0\n${script}`);
    expect({ ...rewritten, pieces: 0 }).toEqual({ ...plain, pieces: 0 });
  });

  it('shows what came before a wait before it', async () => {
    const slow = buildFleet(1).hosts.find(({ slug }) => slug === 'host:db-1')?.shell;
    const stop = new AbortController();
    const said: string[] = [];
    const end = await slow?.run({
      command: 'echo before; sleep 600; echo after',
      signal: stop.signal,
      output: (_stream, bytes) => {
        said.push(bytes.toString());
        stop.abort();
      },
    });
    expect(said).toEqual(['before\n']);
    expect(end).toEqual({ kind: 'stopped' });
  });
});
