import { expect, test } from 'vitest';
import { classify } from '../policy/classify.ts';
import { logCommand } from './log-command.ts';

const HOSTILE = ["a'; reboot; '", '$(reboot)', '`reboot`', '-f', '/x\n', '&& reboot', '"; reboot'];

test('Z3, P2: no argument of tail_log changes its command: it stays a read whatever is asked for', () => {
  for (const text of HOSTILE) {
    for (const one of [{ file: `/var/log/${text}` }, { file: '/var/log/syslog', grep: text }]) {
      const command = logCommand({ lines: 10, ...one });
      expect([command, classify(command).risk]).toEqual([command, 'read_only']);
    }
    expect(() => logCommand({ unit: text, lines: 10 })).toThrow(RangeError);
  }
});

test('P4: what holds keys stays what it is, also behind a search', () => {
  for (const file of ['/root/.ssh/id_ed25519', '/etc/shadow', '/etc/ssl/private/a.key'])
    for (const grep of [undefined, 'x'])
      expect(classify(logCommand({ file, lines: 5, grep })).risk).toBe('destructive');
});

test('F1: a journal and a file are read from their end, and searched further back', () => {
  expect(logCommand({ unit: 'nginx', lines: 50 })).toBe(
    "journalctl --no-pager --quiet -o short-iso -n 50 -u 'nginx'",
  );
  expect(logCommand({ file: '/var/log/a b', lines: 5, grep: "it's" })).toBe(
    `tail -n 20000 -- '/var/log/a b' | grep -F -i -e'it'\\''s' | tail -n 5`,
  );
});
