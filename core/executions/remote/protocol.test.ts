import { Buffer } from 'node:buffer';
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newId } from '../../ids.ts';
import type { CommandTarget } from '../ports.ts';
import {
  attachRequest,
  BEGIN,
  onOneLine,
  cancelRequest,
  decodeCommand,
  encodeCommand,
  MAX_COMMAND_BYTES,
  parseExec,
  readRequest,
  startRequest,
} from './protocol.ts';
import { READ_SCRIPT, WRAPPER_SCRIPT } from './script.ts';

const host: CommandTarget = {
  host: { slug: 'pve-1', address: 'pve.example.org', port: 22, user: 'root' },
};
const container: CommandTarget = { ...host, container: { slug: 'web', pveId: 104 } };
const command = fc
  .string({ unit: 'binary', minLength: 1 })
  .filter((text) => text.trim() !== '' && !text.includes('\0'));

describe('the command line', () => {
  test('X6, Z3: any command comes back byte for byte, and is printable ASCII on the way', () => {
    fc.assert(
      fc.property(command, (text) => {
        const line = encodeCommand(text);
        expect(line).toMatch(/^[ -~]+\n$/);
        expect(decodeCommand(line.slice(0, -1)).equals(Buffer.from(text))).toBe(true);
      }),
    );
  });

  test('X6: a shell decodes it to the same bytes', () => {
    const text = `${Array.from({ length: 127 }, (_, i) => String.fromCharCode(i + 1)).join('')}ü日😀0123\n\n`;
    const script = 'IFS= read -r l; c=$(printf "%bx" "$l"); printf %s "${c%x}"';
    const decoded = execFileSync('sh', ['-c', script], { input: encodeCommand(text) });
    expect(decoded.equals(Buffer.from(text))).toBe(true);
  });

  test.each([['a"b'], ['=a\nb'], ['=ü'], ['\\0'], ['\\012'], ['\\0888'], ['a\nb'], ['$(x)']])(
    'X6: %j is no encoded command',
    (line) => {
      expect(() => decodeCommand(line)).toThrow(/encoded form/);
    },
  );

  test('X1: the limit is counted in bytes', () => {
    expect(() => encodeCommand('ü'.repeat(MAX_COMMAND_BYTES / 2))).not.toThrow();
    expect(() => encodeCommand('ü'.repeat(MAX_COMMAND_BYTES / 2 + 1))).toThrow(/at most 120000/);
  });
});

describe('the exec string', () => {
  test('Z3: holds nothing of the command, and everything in it is fixed text, ids and numbers', () => {
    fc.assert(
      fc.property(command, (text) => {
        const id = newId();
        const { exec } = startRequest(host, id, text, 60_000);
        expect(exec).toBe(
          `exec sh -c '${BEGIN}' nomos1 '${onOneLine(WRAPPER_SCRIPT)}' start ${id} ${Buffer.byteLength(text)} 60000 3000`,
        );
      }),
    );
  });

  test('X6: a container is entered by its number', () => {
    const id = newId();
    expect(readRequest(container, id, 'true', 1_000, 500).exec).toBe(
      `exec pct exec 104 -- sh -c '${BEGIN}' nomos1 '${onOneLine(READ_SCRIPT)}' read ${id} 4 1000 500`,
    );
  });

  test('what is built is read back', () => {
    const id = newId();
    expect(parseExec(startRequest(container, id, 'true', 1_500.2).exec)).toEqual({
      action: 'start',
      pveId: 104,
      id,
      commandBytes: 4,
      timeoutMs: 1_501,
      graceMs: 3_000,
      fixedBytes: 0,
    });
    expect(parseExec(readRequest(host, id, 'ü', 10).exec)).toEqual({
      action: 'read',
      pveId: undefined,
      id,
      commandBytes: 2,
      timeoutMs: 10,
      graceMs: 3_000,
      fixedBytes: 0,
    });
    const fixed = [{ path: '/opt/x.sh', sha256: 'a'.repeat(64) }];
    const starts = startRequest(host, id, 'true', 10, 10, fixed);
    expect(parseExec(starts.exec)).toMatchObject({ commandBytes: 4, fixedBytes: 74 });
    const [first = '', second] = starts.stdin.split('\n');
    expect(decodeCommand(first).toString()).toBe(`${'a'.repeat(64)} /opt/x.sh`);
    expect(second).toBe('=true');
    expect(parseExec(attachRequest(host, id).exec)).toEqual({
      action: 'attach',
      pveId: undefined,
      id,
    });
    expect(parseExec(cancelRequest(container, id).exec)).toEqual({
      action: 'cancel',
      pveId: 104,
      id,
    });
  });

  test.each([
    ['true'],
    ['exec sh -c true'],
    [`exec sh -c 'eval "$1"' nomos1 '' attach 01890000-0000-7000-8000-000000000000`],
    [`exec sh -c '${BEGIN}' nomos1 '' attach`],
    [`exec sh -c '${BEGIN}' nomos1 '' attach 01890000-0000-7000-8000-00000000000G`],
    [`exec sh -c '${BEGIN}' nomos1 '' attach 01890000-0000-7000-8000-000000000000; rm x`],
    [`exec sh -c '${BEGIN}' nomos1 '' attach 01890000-0000-7000-8000-000000000000 1`],
    [`exec sh -c '${BEGIN}' nomos1 '' start 01890000-0000-7000-8000-000000000000 1 2`],
    [`exec sh -c '${BEGIN}' nomos1 '' erase 01890000-0000-7000-8000-000000000000`],
  ])('Z3: %s is nothing of ours', (exec) => {
    expect(parseExec(exec)).toBeNull();
  });

  test.each([['x; rm -rf /'], ['../../etc'], [''], ['01890000-0000-7000-8000-00000000000A']])(
    'Z3: "%s" is refused as an id',
    (id) => {
      expect(() => attachRequest(host, id)).toThrow(/not an execution id/);
    },
  );

  test.each([[99], [1.5], [Number.NaN], [10 ** 9]])(
    'X6: %d is refused as a container number',
    (pveId) => {
      expect(() => attachRequest({ ...host, container: { slug: 'web', pveId } }, newId())).toThrow(
        /Proxmox numbers/,
      );
    },
  );
});

describe('the scripts', () => {
  test.each([
    ['wrapper', WRAPPER_SCRIPT],
    ['read', READ_SCRIPT],
  ])('%s: every login shell hands it on unchanged, and sh can read it', (_, script) => {
    expect(script).toMatch(/^[\n -~]+$/);
    expect(script).not.toMatch(/'|\\\\/);
    expect(script.length).toBeLessThan(16_000);
    execFileSync('sh', ['-n', '-c', script]);
  });
});
