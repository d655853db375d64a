import { describe, expect, test } from 'vitest';
import { classify, scriptsRun, type Verdict } from './classify.ts';
import { withScripts } from './scripts.ts';

describe('A16: which files a command runs', () => {
  const ONE: ReadonlyArray<readonly [command: string, path: string, program: string]> = [
    ['bash /opt/x.sh --all', '/opt/x.sh', 'sh'],
    ['sudo -n bash -eu x.sh', 'x.sh', 'sh'],
    ['cd /opt && ./x.sh a b', '/opt/x.sh', ''],
    ['./x.sh', 'x.sh', ''],
    ['nohup /opt/app/run.sh >/dev/null 2>&1 &', '/opt/app/run.sh', ''],
    ['timeout 5 ~/bin/go.sh', 'bin/go.sh', ''],
    ['env -C /srv LANG=C ./go', '/srv/go', ''],
    ['. ./env.sh', 'env.sh', 'sh'],
    ['bash < /opt/y.sh', '/opt/y.sh', 'sh'],
    ['python3 -u -W ignore /opt/x.py -c foo', '/opt/x.py', 'python3'],
    ['node server.js', 'server.js', 'node'],
    ['find /srv -name x -exec /opt/each {} \\;', '/opt/each', ''],
    ['/opt/bin/ls', '/opt/bin/ls', ''],
    ['bash "/opt/my script.sh"', '/opt/my script.sh', 'sh'],
    ['bash "$HOME/x.sh"', 'x.sh', 'sh'],
    ['HOME=/srv bash /opt/x.sh', '/opt/x.sh', 'sh'],
    ['(cd /opt && ./x.sh)', '/opt/x.sh', ''],
    ['bash "${HOME}/x.sh"', 'x.sh', 'sh'],
  ];
  test.each(ONE)('%s', (command, path, program) => {
    expect(scriptsRun(command)).toEqual([expect.objectContaining({ path, program })]);
  });

  test.each([
    'uptime',
    'bash -c "ls; uptime"',
    'bash -n x.sh',
    'python3 -m json.tool x.json',
    "perl -e 'print 1'",
    'echo "bash /opt/q.sh" > f',
    'printf "echo 1" > x.sh; sh x.sh',
    '/usr/bin/ls',
    'systemctl restart nginx',
  ])('none: %s', (command) => {
    expect(scriptsRun(command)).toEqual([]);
  });

  test.each([
    ['ssh web-2 bash /x.sh', 'on another machine'],
    ['docker exec web sh /x.sh', 'inside a container'],
    ['pct exec 101 -- bash /x.sh', 'inside a container'],
    ['cd /opt; cd sub; ./x', 'its directory'],
    ['su - deploy -c ./x.sh', 'its directory'],
    ['HOME=/srv; cd; ./x.sh', 'its directory'],
    ['HOME=/srv bash -c "~/x.sh"', 'its directory'],
    ['CDPATH=/srv cd sub; ./x.sh', 'its directory'],
    ['chroot /srv /opt/x.sh', 'its directory'],
    ['find /srv -name x.sh -execdir ./x.sh \\;', 'its directory'],
    ['bash $(ls /opt/*.sh | head -1)', 'its name'],
    ['bash /opt/ü.sh', 'unusual characters'],
  ])('one that cannot be looked at: %s', (command, why) => {
    const [script] = scriptsRun(command);
    expect(script?.path).toBeUndefined();
    expect(script?.why).toContain(why);
  });
});

describe('P4: a command whose script destroys, destroys', () => {
  const verdict = (text: string, program = 'sh', command = 'bash x.sh'): Verdict =>
    withScripts(classify(command), [{ shown: 'x.sh', program, text }]);

  test.each([
    ['sh', '#!/bin/bash\nset -e\ncd /srv\nrm -rf data\n'],
    ['', '#!/usr/bin/env bash\nfor d in /srv/*; do\n  zfs destroy -r tank/x\ndone\n'],
    ['', 'reboot\n'],
    ['python3', "import subprocess\nsubprocess.run(['rm', '-rf', '/srv'])\n"],
    ['', "#!/usr/bin/python3\nimport os\nos.system('mkfs.ext4 /dev/sdb')\n"],
    ['perl', "system('rm -rf /srv');\n"],
  ])('%s %j', (program, text) => {
    const found = verdict(text, program);
    expect(found.risk).toBe('destructive');
    expect(found.reasons[0]).toMatch(/^x\.sh holds this: /);
  });

  test('a harmless script lowers nothing, and one that changes raises nothing', () => {
    expect(verdict('#!/bin/sh\nuptime\n').risk).toBe('config_mutation');
    expect(verdict('#!/bin/sh\ntouch /srv/x\n')).toEqual(classify('bash x.sh'));
    expect(verdict('#!/bin/sh\nuptime\n', 'sh', 'rm -rf /srv; bash x.sh').risk).toBe('destructive');
  });
});
