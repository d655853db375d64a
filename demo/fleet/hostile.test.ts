import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testFleet } from './test-support/client.ts';
import type { TestFleet } from './test-support/client.ts';

const folder = dirname(fileURLToPath(import.meta.url));
const secret = `canary-${randomUUID()}`;
const real = mkdtempSync(join(tmpdir(), 'real-'));
const file = join(real, 'canary.txt');

describe('nothing that is sent to the demo fleet reaches this machine', { timeout: 60_000 }, () => {
  let t: TestFleet;
  let hits = 0;
  const web = createServer((_request, response) => {
    hits += 1;
    response.end(secret);
  });
  let port = 0;
  beforeAll(async () => {
    writeFileSync(file, secret);
    process.env['DEMO_CANARY'] = secret;
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    port = (web.address() as AddressInfo).port;
    t = await testFleet();
  }, 60_000);
  afterAll(async () => {
    delete process.env['DEMO_CANARY'];
    await t.end();
    await new Promise((resolve) => web.close(resolve));
    rmSync(real, { recursive: true });
  });

  const attempts: readonly (readonly [string, () => string])[] = [
    ['a real file by its path', () => `cat ${file}`],
    ['a real file by climbing', () => `cat ../../../../../../../../${file}`],
    [
      'a real file through a link',
      () => `ln -s ${file} /tmp/l; cat /tmp/l; cp /tmp/l /tmp/c; cat /tmp/c`,
    ],
    [
      'a real file through /proc',
      () => `cat /proc/self/root${file} /proc/1/root${file} /proc/self/cwd/*`,
    ],
    ['a real file by redirection', () => `while read -r l; do echo "$l"; done < ${file}`],
    ['a real file by source', () => `. ${file}; source ${file}; bash ${file}`],
    ['a real file by curl', () => `curl file://${file}`],
    [
      'a real file by other tools',
      () =>
        `grep -r canary ${real}; awk 1 ${file}; sed p ${file}; tar cf - ${real}; jq -R . ${file}; diff ${file} /dev/null; od -c ${file}`,
    ],
    [
      'writing a real file',
      () =>
        `echo x > ${file}; echo x >> ${real}/new; tee ${real}/t < /dev/null; cp /etc/hosts ${real}/h; mkdir ${real}/d; touch ${real}/e`,
    ],
    [
      'deleting real files',
      () =>
        `rm -rf ${real}; rm -rf --no-preserve-root ${real}/..; find ${real} -delete; mv ${file} /tmp/gone`,
    ],
    [
      'the environment of the program',
      () =>
        "env; printenv; export -p; set; echo $DEMO_CANARY; cat /proc/self/environ; awk 'BEGIN { for (k in ENVIRON) print ENVIRON[k] }'; jq -n env",
    ],
    [
      'the name of this machine',
      () => 'hostname; uname -n; cat /etc/hostname /proc/sys/kernel/hostname; echo $HOSTNAME',
    ],
    [
      'a shell of this machine',
      () => `/bin/sh -c 'cat ${file}'; /bin/bash -c 'cat ${file}'; exec /bin/sh -c 'cat ${file}'`,
    ],
    [
      'other languages',
      () =>
        `python3 -c 'print(open("${file}").read())'; perl -e 'print \`cat ${file}\`'; node -e 'console.log(require("fs").readFileSync("${file}","utf8"))'; js-exec -c 'console.log(1)'; ruby -e 1; php -r 1; sqlite3 :memory: ".shell cat ${file}"`,
    ],
    [
      'commands inside tools',
      () =>
        `awk 'BEGIN { system("cat ${file}"); "cat ${file}" | getline x; print x }'; sed '1e cat ${file}' /etc/hosts; find / -maxdepth 1 -exec cat ${file} \\;; echo ${file} | xargs cat; env cat ${file}; timeout 1 cat ${file}`,
    ],
    [
      'substitutions of every kind',
      () =>
        `echo $(cat ${file}) \`cat ${file}\` <(cat ${file}); cat <(cat ${file}); echo "\${x:-$(cat ${file})}" $(( $(wc -c < ${file}) )); eval "cat ${file}"`,
    ],
    [
      'a real web server',
      () =>
        `curl http://127.0.0.1:${port}/; curl http://localhost:${port}/; wget -qO- http://127.0.0.1:${port}/; curl --resolve x:${port}:127.0.0.1 http://x:${port}/; exec 3<>/dev/tcp/127.0.0.1/${port}; echo "GET /" > /dev/tcp/127.0.0.1/${port}; nc 127.0.0.1 ${port}`,
    ],
    [
      "the fleet's own key",
      () => `cat ${t.fleet.privateKeyPath}; ssh -i ${t.fleet.privateKeyPath} root@127.0.0.1 id`,
    ],
    [
      'the insides of the shell',
      () =>
        'declare -A constructor; __proto__=1; x[__proto__]=2; printf -v constructor x; echo ${constructor} ${__proto__}; hasOwnProperty() { echo; }; hasOwnProperty; cat /dev/.live/1; echo x > /dev/.live/1; DEMO_FLEET_LIVE=1 apt-get update',
    ],
    [
      'the insides of the shell from a container',
      () => `pct exec 101 -- bash -c 'cat ${file}; env'; pct exec 101 -- cat ${file}`,
    ],
  ];

  it.each(attempts)('Z4: %s', async (_name, command) => {
    for (const host of ['web-1', 'pve-1']) {
      const { stdout, stderr } = await t.run(host, command(), { timeoutMs: 5_000 });
      const said = stdout + stderr;
      expect(said).not.toContain(secret);
      expect(said).not.toContain('PRIVATE KEY');
      if (hostname().length > 3) expect(said).not.toContain(hostname());
    }
    expect(readFileSync(file, 'utf8')).toBe(secret);
    expect(readdirSync(real)).toEqual(['canary.txt']);
    expect(hits).toBe(0);
  });

  it.each([
    ['an endless loop', 'while :; do :; done'],
    ['an endless loop of sleeps', 'while :; do sleep 0.05; done'],
    ['a fork bomb', ':(){ :|:& };:'],
    ['a fork bomb with names', 'bomb() { bomb | bomb & bomb; }; bomb'],
    ['endless recursion', 'f() { f; }; f'],
    ['endless substitution', 'f() { echo $(f); }; f'],
    ['endless output', 'while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done'],
    ['endless awk', 'awk \'BEGIN { while (1) x = x "xxxxxxxx" }\''],
    ['endless sed', "echo x | sed ':a;s/x/xx/;ta'"],
    ['endless jq', "jq -n '[range(1e12)] | length'"],
    ['an array that grows', 'a=(); while :; do a+=(xxxxxxxxxxxxxxxxxxxxxxxx); done'],
    ['a string that grows', 'a=x; while :; do a=$a$a; done'],
    ['wide formats and braces', "printf '%1000000000s'; echo {1..100000000}; seq 1 999999999"],
    [
      'a slow pattern',
      "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa! | grep -P '^(a+)+$'",
    ],
    [
      'filling the memory with files',
      'a=$(printf "%1000000s" x); i=0; while :; do i=$((i+1)); echo "$a" > /tmp/f$i || exit 1; done',
    ],
    ['many jobs', 'for i in $(seq 1 500); do sleep 60 & done; wait'],
    ['what never ends', 'tail -f /etc/hosts'],
    ['what never ends in a container', 'journalctl -f'],
    ['deleting everything', 'rm -rf --no-preserve-root /; rm -rf /*; ls /'],
  ])('R12: %s harms nobody else', async (_name, command) => {
    const began = performance.now();
    const { end, stdout } = await t.run('nas-1', command, { timeoutMs: 1_000 });
    expect(['exited', 'timed_out']).toContain(end.kind);
    expect(stdout.length).toBeLessThan(9 * 1024 * 1024);
    expect(performance.now() - began).toBeLessThan(20_000);
    expect((await t.run('web-1', 'hostname')).stdout).toBe('web-1\n');
  });

  it('huge input and what is no text are refused or run, and change nothing else', async () => {
    expect((await t.run('web-1', `: ${'x'.repeat(100_000)}`)).exitCode).toBe(0);
    expect((await t.run('web-1', `${'('.repeat(5_000)}`)).exitCode).not.toBe(0);
    expect((await t.run('web-1', '\u0007\u001b[31m')).exitCode).toBe(127);
    expect((await t.run('web-1', 'hostname')).stdout).toBe('web-1\n');
  });

  it('no file of it can start a process, and only its own folder is touched', () => {
    const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (name) =>
        name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.startsWith('test-support'),
    );
    expect(sources.length).toBeGreaterThan(20);
    for (const name of sources) {
      const text = readFileSync(join(folder, name), 'utf8');
      const imports = [...text.matchAll(/(?:from|import|import\()\s*'([^']+)'/g)].map(
        ([, from]) => from,
      );
      expect(imports, name).not.toContain('node:child_process');
      expect(text, name).not.toMatch(/child_process|process\.binding|require\(|\beval\(/);
      expect(text, name).not.toMatch(
        /OverlayFs|ReadWriteFs|MountableFs|javascript:|python:|network:/,
      );
      const touchesFiles = imports.some(
        (from) => from === 'node:fs' || from === 'node:fs/promises',
      );
      expect(touchesFiles, name).toBe(name === 'home.ts');
    }
  });
});
