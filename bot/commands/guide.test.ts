import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { usage } from './command.ts';
import { HELP_STATEMENT } from './help.ts';
import { COMMANDS } from './index.ts';

describe('C12: the operator guide', () => {
  it('lists every command as its statement has it, and no other', () => {
    const guide = readFileSync('docs/operator-guide.md', 'utf8');
    const listed = guide.split('\n').filter((line) => line.startsWith('| `!'));
    const stated = [HELP_STATEMENT, ...COMMANDS].map(
      (command) => `| \`${usage(command)}\` | ${command.does} |`,
    );
    expect(listed).toEqual(stated);
  });
});
