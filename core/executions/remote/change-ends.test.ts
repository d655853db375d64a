import { expect, test } from 'vitest';
import type { RunRequest } from '../ports.ts';
import { withoutEnd } from './change-ends.ts';
import { RunRecord } from './ends.ts';

test('R6, X5: a start that nobody cancelled and that was given up as overdue is told as never started, not as cancelled', () => {
  const request: RunRequest = {
    executionId: '00000000-0000-7000-8000-000000000000',
    target: { host: { slug: 'host:a', address: '192.0.2.1', port: 22, user: 'root' } },
    ...{ command: 'true', kind: 'change', timeoutMs: 1 },
  };
  const said = {
    ...{ begun: false, shell: undefined, final: undefined, exit: undefined, stderr: '' },
    error: undefined,
  };
  const end = withoutEnd(request, new RunRecord(request), said, true, {
    why: 'overdue',
    end: { kind: 'never_started' },
  });
  expect(end).toMatchObject({ kind: 'not_started', error: { code: 'ssh_never_started' } });
});
