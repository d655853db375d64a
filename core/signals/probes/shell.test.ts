import { describe, expect, it } from 'vitest';
import { storedParameters, type CheckKind } from '../check-kinds.ts';
import { saidText, shellProbe } from './shell.ts';

const DF = `Filesystem     1024-blocks      Used Available Capacity Mounted on
udev               4000000         0   4000000       0% /dev
tmpfs               800000    799999         1     100% /run
/dev/sda1         51475068  40123456   8703788      83% /
tank/backup     2147483648 2061584302  85899346      96% /srv/my backup
overlay           51475068  51475068         0     100% /var/lib/docker/overlay2/x/merged
/dev/loop0           65536     65536         0     100% /snap/core/1
`;
const MEMINFO = `MemTotal:       16384000 kB
MemFree:          204800 kB
MemAvailable:    1638400 kB
`;

/** What a check makes of what its command said. */
function judged(
  kind: CheckKind,
  said: { stdout?: string; stderr?: string; exitCode?: number },
  given: Record<string, unknown> = {},
) {
  const probe = shellProbe(storedParameters.parse({ kind, version: 1, ...given }));
  if (probe === undefined) throw new Error(`${kind} asks no shell`);
  return probe.judge({ exitCode: 0, stdout: '', stderr: '', ...said });
}

describe('S1: what checks make of the output of a machine', () => {
  it('disk: the fullest real file system counts, as df counts; memory in files and images does not', () => {
    expect(judged('disk', { stdout: DF })).toEqual({
      status: 'fail',
      value: 96,
      detail: '/srv/my backup 96 % full, 82 GiB free',
      metrics: [
        { name: 'disk.percent', value: 96 },
        { name: 'disk.percent:/', value: 82.2 },
        { name: 'disk.percent:/srv/my backup', value: 96 },
      ],
    });
    expect(judged('disk', { stdout: DF }, { paths: ['/'] })).toMatchObject({ status: 'warn' });
    expect(judged('disk', { stdout: DF }, { warn: 97, fail: 99 })).toMatchObject({ status: 'ok' });
  });

  it('disk: what should be mounted and is not fails; what df cannot read beside others does not hide them', () => {
    expect(judged('disk', { stdout: DF }, { paths: ['/', '/mnt/usb'] })).toMatchObject({
      status: 'fail',
      detail: 'not mounted: /mnt/usb',
    });
    const stderr = 'df: /mnt/dead: Stale file handle\n';
    expect(judged('disk', { stdout: DF, stderr, exitCode: 1 })).toMatchObject({ value: 96 });
    expect(judged('disk', { stderr: 'df: not found', exitCode: 127 })).toMatchObject({
      status: 'unknown',
      detail: 'df shows no file system: df: not found',
    });
  });

  it.each([
    ['0.64 1.90 2.10 1/214 4211\n4\n', 'ok', 0.48],
    ['9.00 8.00 7.00 1/214 4211\n4\n', 'warn', 2],
    ['99 16.00 7.00 1/214 4211\n4\n', 'fail', 4],
    ['', 'unknown', null],
    ['nonsense\n', 'unknown', null],
    ['0.64 1.90 2.10 1/214 4211\n', 'unknown', null],
  ])('load: %j is %s', (stdout, status, value) => {
    expect(judged('load', { stdout })).toMatchObject({ status, value });
  });

  it('memory: what is available counts, not what is free', () => {
    expect(judged('memory', { stdout: MEMINFO })).toMatchObject({
      status: 'warn',
      value: 90,
      detail: '90 % of 16 GiB in use, 1.6 GiB available',
    });
    expect(judged('memory', { stdout: 'MemTotal: 1 kB' })).toMatchObject({ status: 'unknown' });
  });

  it.each([
    ['active\n', 0, 'ok'],
    ['activating\n', 3, 'warn'],
    ['inactive\n', 3, 'fail'],
    ['failed\n', 3, 'fail'],
    ['', 127, 'unknown'],
    ['something new\n', 3, 'unknown'],
  ])('unit: %j is %s', (stdout, exitCode, status) => {
    const seen = judged('unit', { stdout, exitCode }, { unit: 'nginx.service' });
    expect(seen.status).toBe(status);
  });

  it.each([
    [{ stdout: 'two\nlines\n' }, {}, 'ok', 'lines'],
    [{ stderr: 'no such file', exitCode: 2 }, {}, 'fail', 'exit code 2: no such file'],
    [{ stdout: '7\n' }, { warn: 5, fail: 10 }, 'warn', '7'],
    [{ stdout: '10\n' }, { warn: 5, fail: 10 }, 'fail', '10'],
    [{ stdout: 'many\n' }, { fail: 10 }, 'unknown', 'its first line is no number: many'],
  ])('command: %j with %j is %s', (said, limits, status, detail) => {
    expect(judged('command', said, { command: 'uptime', ...limits })).toMatchObject({
      status,
      detail,
    });
  });

  it('S1, R12: a line of blanks without end is passed by, and holds nothing up', () => {
    const stdout = `${DF}x${' '.repeat(200_000)}y\n/dev/sdb1 1 ${'9'.repeat(100_000)} 1 1% /${'z'.repeat(5_000)}\n`;
    expect(judged('disk', { stdout })).toEqual(judged('disk', { stdout: DF }));
  });

  it('disk: blanks in a path that is asked for are found however many there are', () => {
    const stdout = '/dev/sdb1   100  50  50   50%   /srv/my  films\n';
    expect(judged('disk', { stdout: `\n${stdout}` }, { paths: ['/srv/my  films'] })).toMatchObject({
      status: 'ok',
      value: 50,
    });
  });

  it('X9: a line is given with what follows a secret, so that it is still known as one when it is masked', () => {
    const secret = `token=${'s3cr3t'.repeat(20)}`;
    const line = `${'x'.repeat(180)} ${secret}`;
    const { detail } = judged('command', { stdout: line }, { command: 'uptime' });
    expect(detail).toBe(line);
    expect(
      judged('command', { stdout: 'y'.repeat(100_000) }, { command: 'uptime' }).detail.length,
    ).toBeLessThan(5_000);
  });

  it('S1, R12: what a machine says can be stored, whatever its bytes', () => {
    expect(saidText(Buffer.from([0x61, 0, 0xff, 0x62]))).toBe('a\u2400\ufffdb');
  });
});
