import { defineConfig } from 'vitest/config';

/** A project on real services, which all projects of a run share (test/support/global-setup.ts). */
function onServices(name: string, testTimeoutMs: number) {
  return {
    test: {
      name,
      include: [`test/${name}/**/*.test.ts`],
      globalSetup: ['test/support/global-setup.ts'],
      testTimeout: testTimeoutMs,
      hookTimeout: 180_000,
      env: { NOMOS_LOG_LEVEL: process.env['NOMOS_LOG_LEVEL'] ?? 'fatal' },
    },
  };
}

export default defineConfig({
  test: {
    // Tests mostly wait for services and for other processes: two workers more than the default on two cores.
    maxWorkers: 3,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{bot,core,jobs,prisma,seeds,demo,scripts,bench}/**/*.test.ts'],
          testTimeout: 30_000,
          env: { NOMOS_LOG_LEVEL: process.env['NOMOS_LOG_LEVEL'] ?? 'fatal' },
        },
      },
      onServices('integration', 120_000),
      onServices('e2e', 240_000),
      onServices('faults', 180_000),
    ],
  },
});
