import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { FAULT_POINTS, NOT_IN_ROUNDS } from './kit/points.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('the kit knows every fault point of the program, so that none is forgotten by rounds and by --each', () => {
  const named = new Set<string>();
  for (const file of globSync('{core,bot,jobs}/**/*.ts', { cwd: root })) {
    if (file.endsWith('.test.ts') || file.includes('generated')) continue;
    const source = readFileSync(`${root}/${file}`, 'utf8');
    for (const [, name = ''] of source.matchAll(/faultPoint\(\s*['`]([^'`]+)['`]\)/g))
      named.add(name);
    // The channel that talks with a target is told which point is its own.
    for (const [, names = ''] of source.matchAll(/faultPoint: ([^,\n]+)/g))
      for (const [, name = ''] of names.matchAll(/'([^']+)'/g)) named.add(name);
  }
  expect(named.delete('remote.${message.type}')).toBe(true);
  for (const type of ['started', 'exists', 'attached']) named.add(`remote.${type}`);
  const known = [...FAULT_POINTS.map(({ name }) => name), ...Object.keys(NOT_IN_ROUNDS)];
  expect(known.toSorted()).toEqual([...named].toSorted());
});
