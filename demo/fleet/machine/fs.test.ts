import { latin1FromBytes } from 'just-bash';
import { describe, expect, it } from 'vitest';
import { MachineFs } from './fs.ts';

const GIB = 1024 ** 3;

function filled(): MachineFs {
  const fs = new MachineFs();
  fs.addLarge('/data/old/a', 3 * GIB, new Date(0));
  fs.addLarge('/data/old/b', 2 * GIB, new Date(0));
  fs.addLarge('/data/older', GIB, new Date(0));
  return fs;
}

describe('files of a simulated machine', () => {
  it('large files claim a size and take no memory', async () => {
    const fs = filled();
    expect((await fs.stat('/data/old/a')).size).toBe(3 * GIB);
    expect(fs.claimedBelow('/data')).toBe(6 * GIB);
    expect(fs.claimedBelow('/data/old')).toBe(5 * GIB);
    expect(await fs.readFile('/data/old/a')).toBe('');
  });

  it('removing, moving, copying and overwriting them changes what is claimed', async () => {
    const fs = filled();
    await fs.rm('/data/old', { recursive: true });
    expect(fs.claimedBelow('/')).toBe(GIB);
    await fs.mv('/data/older', '/kept');
    expect(fs.claimedBelow('/data')).toBe(0);
    expect((await fs.stat('/kept')).size).toBe(GIB);
    await fs.cp('/kept', '/again');
    expect(fs.claimedBelow('/')).toBe(2 * GIB);
    await fs.writeFile('/again', 'x');
    expect(fs.claimedBelow('/')).toBe(GIB);
  });

  it('copying a folder below itself ends', async () => {
    const fs = filled();
    await fs.cp('/data/old', '/data/old/again', { recursive: true }).catch(() => undefined);
    expect(fs.claimedBelow('/data/old')).toBeLessThanOrEqual(10 * GIB);
  });

  it('computed files are worked out at each reading, in any form', async () => {
    const fs = new MachineFs();
    let count = 0;
    fs.addComputed('/proc/count', () => String((count += 1)));
    expect(await fs.readFile('/proc/count')).toBe('1');
    expect((await fs.readFileBuffer('/proc/count')).toString()).toBe('2');
    expect(latin1FromBytes(await fs.readFileBytes('/proc/count'))).toBe('3');
  });

  it('holds only so much', async () => {
    const fs = new MachineFs();
    const write = async (): Promise<void> => {
      for (let n = 0; n < 100; n += 1) await fs.writeFile(`/f${n}`, 'x'.repeat(1024 * 1024));
    };
    await expect(write()).rejects.toThrow();
  });
});
