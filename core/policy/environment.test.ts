import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { classify } from './classify.ts';
import { PINNED_ENV } from './environment.ts';

test('P2: git does not run what a repository names, and still answers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nomos-git-'));
  try {
    const git = (...args: string[]) =>
      spawnSync('git', ['-C', folder, ...args], {
        env: { ...PINNED_ENV, HOME: folder },
        encoding: 'utf8',
      });
    const mark = join(folder, 'ran');
    const program = join(folder, 'program');
    writeFileSync(program, `#!/bin/sh\ntouch ${mark}\n`);
    chmodSync(program, 0o755);
    git('init', '--quiet');
    writeFileSync(join(folder, 'file'), 'one\n');
    git('add', 'file');
    git('-c', 'user.name=n', '-c', 'user.email=n@example.org', 'commit', '--quiet', '-m', 'first');
    for (const key of ['core.fsmonitor', 'core.pager', 'core.sshCommand', 'gpg.program'])
      git('config', key, program);
    git('config', 'log.showSignature', 'true');
    writeFileSync(join(folder, 'file'), 'two\n');

    for (const command of ['status --short', 'diff', 'log --oneline', 'show --stat']) {
      expect(classify(`git ${command}`).risk).toBe('read_only');
      const result = git(...command.split(' '));
      expect(result.status, `${command}: ${result.stderr}`).toBe(0);
      expect(result.stdout).not.toBe('');
    }
    expect(existsSync(mark)).toBe(false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('P2: the environment names only system directories, and no pager but cat', () => {
  expect(PINNED_ENV['PATH']?.split(':')).toEqual([
    '/usr/local/sbin',
    '/usr/local/bin',
    '/usr/sbin',
    '/usr/bin',
    '/sbin',
    '/bin',
  ]);
  expect([PINNED_ENV['PAGER'], PINNED_ENV['GIT_PAGER'], PINNED_ENV['SYSTEMD_PAGER']]).toEqual([
    'cat',
    'cat',
    '',
  ]);
  expect(Object.keys(PINNED_ENV)).not.toContain('HOME');
  const settings = Number(PINNED_ENV['GIT_CONFIG_COUNT']);
  for (let at = 0; at < settings; at++) {
    expect(PINNED_ENV).toHaveProperty(`GIT_CONFIG_KEY_${at}`);
    expect(PINNED_ENV).toHaveProperty(`GIT_CONFIG_VALUE_${at}`);
  }
});
