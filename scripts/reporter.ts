import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

/** What a run came to. */
export interface Totals {
  readonly passed: number;
  /** Tests that failed, files that could not be loaded, and errors outside any test. */
  readonly failed: number;
  readonly skipped: number;
}

/** Writes the totals of a run to the file that NOMOS_TEST_TOTALS names, at its very end only. */
export default class TotalsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const file = process.env['NOMOS_TEST_TOTALS'];
    if (file === undefined) return;
    let [passed, failed, skipped] = [0, unhandledErrors.length, 0];
    for (const module of modules) {
      let failedHere = 0;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed++;
        else if (state === 'skipped') skipped++;
        else failedHere++;
      }
      // A file or a suite can fail without any of its tests: an import, a hook.
      if (failedHere === 0 && !module.ok()) failedHere = 1;
      failed += failedHere;
    }
    const totals: Totals = { passed, failed, skipped };
    writeFileSync(file, JSON.stringify(totals));
  }
}
