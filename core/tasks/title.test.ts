import { expect, it } from 'vitest';
import { titleFrom } from './title.ts';

it.each([
  ['All disks are fine.', 'All disks are fine'],
  ['Sure! I’ll check the disks on all hosts.', 'Check the disks on all hosts'],
  ["I'll check web-1 first, then restart nginx.", 'Check web-1 first, then restart nginx'],
  ['OK, let me look at the log of nginx on web-1.', 'Look at the log of nginx on web-1'],
  ['Hello Ann!\n\nAll three hosts answer.', 'All three hosts answer'],
  ['Hi Ann, web-1 is up.', 'web-1 is up'],
  ['Of course. Here are the disks of the fleet:\n\n| a | b |\n|---|---|', 'The disks of the fleet'],
  ['## **Summary**\nnginx on web-1 *runs* again.', 'nginx on web-1 runs again'],
  ['✅ Done! I have restarted nginx on `web-1`.', 'Restarted nginx on web-1'],
  ['I checked the disks: all are below 60 %.', 'I checked the disks'],
  [
    'nginx 1.24.0 on web-1 is up, e.g. for the shop. More follows.',
    'nginx 1.24.0 on web-1 is up, e.g. for the shop',
  ],
  ['See [the docs](https://example.org/a) for web-1.', 'See the docs for web-1'],
  ['```\ndf -h\n```\nThe root disk is full.', 'The root disk is full'],
  ['Hallo! Alle Dienste laufen.', 'Alle Dienste laufen'],
  ['所有磁盘正常。没有问题。', '所有磁盘正常'],
  ['> - 3 hosts are down', '3 hosts are down'],
  [
    'The certificate of shop.example.org expires in three days and must be renewed before the weekend.',
    'The certificate of shop.example.org expires in three days…',
  ],
])('T8: %j', (answer, title) => {
  expect(titleFrom(answer)).toBe(title);
});

it('T8: an answer that says nothing gives no title, nor does one that only says the request again', () => {
  expect(titleFrom('Sure!')).toBeUndefined();
  expect(titleFrom('```\ndf -h\n```')).toBeUndefined();
  expect(titleFrom('…')).toBeUndefined();
  expect(titleFrom('Check the disks!', 'check the disks')).toBeUndefined();
  expect(titleFrom('I’ll check the disks.', 'check the disks')).toBeUndefined();
});

it.each(['**a ', 'ok, ', 'hello ', '[a](', 'i am ', '*a* ', 'e.g. '])(
  'T8: many of %j make no slow title',
  (piece) => {
    // A pattern that tries every way to split it would not come to an end here.
    const title = titleFrom(`${piece.repeat(20_000)}x`) ?? '';
    expect([...title].length).toBeLessThanOrEqual(60);
  },
);
