import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { findChromium } from '../../scripts/lib/chromium.ts';
import { ChatBrowser } from '../support/chat-browser.ts';
import { NomosWorld } from '../support/nomos-world.ts';

const run = (command: string, purpose: string) => ({
  name: 'run',
  arguments: { target: 'host:web-1', command, purpose },
});
const goal = (text: string) => ({ toolCalls: [{ name: 'set_goal', arguments: { goal: text } }] });
const complete = (summary: string) => ({
  toolCalls: [{ name: 'complete_task', arguments: { outcome: 'success', summary } }],
});
const runs = (file: string): number =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;

test('T2, C3, A2, A3, C6: in a browser the operator asks, taps ✅ on a card, types “I confirm” to a deletion, and sees the digest', async (context) => {
  const executablePath = findChromium();
  if (executablePath === undefined) {
    context.skip('no Chromium on this machine: install one, or set CHROMIUM');
    return;
  }
  await using world = await NomosWorld.open();
  const account = await world.homeserver.newUser('ann');
  const ann = await world.personOf('ann', account, 'admin');
  await world.start();
  const lobby = await world.lobby(ann);
  const marker = path.join(world.sshd.home, 'marker');
  world.model.script(
    goal('The marker is set'),
    { toolCalls: [run(`echo run >> ${marker}`, 'Set the marker')] },
    { text: 'I proposed it.' },
    { toolCalls: [run(`rm -rf ${marker}`, 'Delete the marker again')] },
    { text: 'I proposed the deletion.' },
    complete('The marker was set and deleted.'),
  );
  await using chat = await ChatBrowser.open({
    executablePath,
    homeserverUrl: world.homeserver.url,
    account,
    lobby,
  });

  await chat.say('set the marker, then delete it');
  await chat.openRoom('The marker is set');
  const card = await chat.message('Approve? Set the marker');
  expect(await card.innerText()).toContain(`echo run >> ${marker}`);
  expect(runs(marker)).toBe(0);
  await chat.tapChip(card, '✅');
  // The card is one message through its life: the newest form replaces what it said.
  expect(await (await chat.message('Done in')).innerText()).toContain('with a tap');

  const deletion = await chat.message('Confirm? Delete the marker again');
  expect(runs(marker)).toBe(1);
  await chat.reply(deletion, 'I confirm');
  await chat.message('by typed confirmation');
  const digest = await chat.message('Done: The marker is set');
  expect(await digest.innerText()).toContain('2 by approval');
  expect(existsSync(marker)).toBe(false);
  expect(chat.errors).toEqual([]);
  world.model.verify();
}, 240_000);
