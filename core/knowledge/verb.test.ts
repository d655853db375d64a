import { expect, test } from 'vitest';
import { verbOf } from './verb.ts';

test.each([
  ['df -h', 'df'],
  ['systemctl restart nginx', 'systemctl restart'],
  ['systemctl --no-pager status nginx', 'systemctl status'],
  ['/usr/bin/systemctl restart nginx.service', 'systemctl restart'],
  ['sudo -u root systemctl restart nginx', 'systemctl restart'],
  ['apt-get update && DEBIAN_FRONTEND=noninteractive apt-get -y upgrade', 'apt-get upgrade'],
  ['cd /srv && docker compose -f x.yml up -d', 'docker compose up'],
  ['timeout 30 journalctl -u nginx | tail -n 5', 'journalctl'],
  ['pct exec 101 -- systemctl restart dns', 'systemctl restart'],
  ['docker exec -it web df -h', 'df'],
  ["sh -c 'systemctl stop nginx; echo done'", 'systemctl stop'],
  ['for h in a b; do rm -f "/tmp/$h"; done', 'rm'],
  ['echo done', 'script'],
  ['"$PROGRAM" --go', 'script'],
  ['if then', 'script'],
  ['', 'script'],
])('K11: the verb of %j is %s', (command, verb) => {
  expect(verbOf(command)).toBe(verb);
});

test('K11: a command that is too long to be read tells no verb', () => {
  expect(verbOf('rm a '.repeat(5_000))).toBe('script');
});
