import { describe, expect, test } from 'vitest';
import { whichFit } from './card-match.ts';
import { readIntent } from './intent.ts';

const OLD = 'lxc:old 3f9a Destroy the old container pct destroy 135 --purge';
const NEW = 'lxc:new 77c1 Destroy the failed container pct destroy 136';
const NGINX = 'host:web-1 a1b2 Restart nginx after the change systemctl restart nginx';
const UPGRADE = 'host:web-1 c3d4 Upgrade packages apt-get -y dist-upgrade';

/** The cards that a message decides; none if it decides nothing. */
function meant(text: string, cards: readonly string[]): number[] {
  const intent = readIntent(text, ['en', 'de', 'es', 'fr']);
  return intent.assent ? whichFit(intent.reference, cards) : [];
}

describe('A6: which of several cards a confirmation means', () => {
  test.each([
    ['I confirm', [0, 1]],
    ['I confirm lxc:old', [0]],
    ['I confirm LXC:OLD', [0]],
    ['I confirm 77c1', [1]],
    ['I confirm 135', [0]],
    ['I confirm the deletion of lxc:new', [1]],
    ['I confirm the destruction of old', [0]],
    ['I confirm lxc:other', []],
    ['I confirm 13', []],
    ['I confirm the reboot of lxc:old', []],
    ['I confirm both', [0, 1]],
    ['I confirm all three', []],
    ['ich bestätige die Löschung von lxc:old', [0]],
    ['confirmo la eliminación de lxc:new', [1]],
    ['je confirme la suppression de lxc:old', [0]],
  ])('%j', (text, indices) => {
    expect(meant(text, [OLD, NEW])).toEqual(indices);
  });
});

describe('A5: an approval that names something fits or grants nothing', () => {
  test.each([
    ['yes', [0, 1]],
    ['go ahead with the restart', [0]],
    ['yes, restart nginx', [0]],
    ['ok do the upgrade', [1]],
    ['yes, on web-1', [0, 1]],
    ['yes, on web-2', []],
    ['yes, restart caddy', []],
    ['yes, upgrade nginx', []],
    ['yes, both', [0, 1]],
    ['ja, den Neustart', [0]],
    ['sí, reinicia nginx', [0]],
    ['oui, redémarre nginx', [0]],
  ])('%j', (text, indices) => {
    expect(meant(text, [NGINX, UPGRADE])).toEqual(indices);
  });

  test('kinds of things tell cards apart only where several wait', () => {
    expect(meant('yes, restart the server', [NGINX])).toEqual([0]);
    expect(meant('yes, the container', [OLD, NGINX])).toEqual([0]);
  });
});
