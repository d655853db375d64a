import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, expect, test } from 'vitest';
import { PictureRenderer } from './render.ts';
import { MAX_NODES, type GraphPicture, type Png } from './state.ts';

const renderer = new PictureRenderer();
afterAll(() => renderer.close());

const ONE: GraphPicture = {
  title: 'web-1',
  nodes: [{ slug: 'host:web-1', name: 'web-1', type: 'host', tone: 'subject' }],
  edges: [],
  leftOut: 0,
};

/** Width and height as the file itself says. */
function header(png: Png): { signature: string; width: number; height: number } {
  const bytes = Buffer.from(png.bytes);
  return {
    signature: bytes.subarray(1, 4).toString('latin1'),
    width: bytes.readUInt32BE(16),
    height: bytes.readUInt32BE(20),
  };
}

test('C12: a graph becomes a PNG of the size that is told, wide enough to be sharp on a phone', async () => {
  const png = await renderer.graph(ONE);
  expect(header(png)).toEqual({ signature: 'PNG', width: png.width, height: png.height });
  expect(png.width).toBeGreaterThanOrEqual(2 * 390);
});

test('C12: its words are drawn in the font that is shipped', async () => {
  const [one, other] = await Promise.all([
    renderer.graph(ONE),
    renderer.graph({ ...ONE, title: 'web-2' }),
  ]);
  // Without a font both would be the same box.
  expect(Buffer.from(one.bytes).equals(Buffer.from(other.bytes))).toBe(false);
});

test('C12: a large graph stays within what a phone can show', async () => {
  const leaves = Array.from(
    { length: MAX_NODES - 1 },
    (_value, index) => `service:number-${index}`,
  );
  const png = await renderer.graph({
    title: 'web-1 and what depends on it',
    leftOut: 40,
    nodes: [
      ...ONE.nodes,
      ...leaves.map((slug) => ({ slug, name: slug, type: 'service', tone: 'near' as const })),
    ],
    edges: leaves.map((source) => ({
      source,
      target: 'host:web-1',
      type: 'runs_on',
      dependent: 'source' as const,
    })),
  });
  expect(png.height / png.width).toBeLessThan(2);
  expect(Math.max(png.width, png.height)).toBeLessThanOrEqual(2600);
  expect(png.bytes.length).toBeLessThan(1024 * 1024);
});

test('C12: a trend becomes a PNG', async () => {
  const png = await renderer.trend({
    title: 'Commands',
    days: [{ day: '2026-11-29', succeeded: 3, failed: 1 }],
  });
  expect(header(png)).toEqual({ signature: 'PNG', width: png.width, height: png.height });
});

test('R12: after its thread was ended the next picture is drawn by another', async () => {
  const dying = expect(renderer.graph(ONE)).rejects.toMatchObject({ code: 'picture_failed' });
  await renderer.close();
  await dying;
  expect(header(await renderer.graph(ONE)).signature).toBe('PNG');
});

test('J7: a picture that was drawn keeps no process from ending', { timeout: 45_000 }, async () => {
  const module = new URL('render.ts', import.meta.url).href;
  const script = `
    const { PictureRenderer } = await import(${JSON.stringify(module)});
    await new PictureRenderer().trend({ title: 'x', days: [{ day: '2026-11-29', succeeded: 1, failed: 0 }] });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' });
  // It would go on for the minute after which an idle thread ends.
  expect(await once(child, 'exit')).toEqual([0, null]);
});
