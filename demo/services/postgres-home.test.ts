import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keepCopy } from './postgres-home.ts';

describe('the copy of the database programs', () => {
  let base: string;
  const works = (root: string): boolean => existsSync(join(root, 'bin', 'postgres'));
  function tree(name: string, ...files: string[]): string {
    const root = join(base, name);
    mkdirSync(join(root, 'bin'), { recursive: true });
    for (const file of files) writeFileSync(join(root, 'bin', file), '');
    return root;
  }

  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'nomos-copy-'));
  });
  afterEach(() => rmSync(base, { recursive: true }));

  it('is made once, whole, and left alone while it works', () => {
    const copy = join(base, 'copy');
    expect(keepCopy(tree('package', 'postgres'), copy, works)).toBe(true);
    writeFileSync(join(copy, 'mark'), '');
    expect(keepCopy(join(base, 'package'), copy, works)).toBe(true);
    expect(readdirSync(base).toSorted()).toEqual(['copy', 'package']);
    expect(existsSync(join(copy, 'mark'))).toBe(true);
  });

  it('is made anew when it does not work, say after a start with packages that were half installed', () => {
    const copy = tree('copy', 'initdb');
    expect(keepCopy(tree('package', 'postgres'), copy, works)).toBe(true);
    expect(readdirSync(join(copy, 'bin'))).toEqual(['postgres']);
    expect(readdirSync(base).toSorted()).toEqual(['copy', 'package']);
  });

  it('does not take the place of another when it does not work itself', () => {
    const copy = tree('copy', 'initdb');
    expect(keepCopy(tree('package'), copy, works)).toBe(false);
    expect(readdirSync(join(copy, 'bin'))).toEqual(['initdb']);
    expect(readdirSync(base).toSorted()).toEqual(['copy', 'package']);
  });
});
