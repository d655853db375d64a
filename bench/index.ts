import { blastRadiusBench } from './b07-blast-radius.ts';
import { classifyBench } from './b08-classify.ts';
import { sessionsBench } from './b09-sessions.ts';
import { sshBench } from './b04-ssh.ts';
import { startBench } from './b10-start.ts';
import { endToModelBench } from './b03-end-to-model.ts';
import { firstEventBench } from './b01-first-event.ts';
import { tapToStartBench } from './b02-tap-to-start.ts';
import { contextBench } from './b06-context.ts';
import { manyTasksBench } from './b05-many-tasks.ts';
import type { Benchmark } from './lib/benchmark.ts';

/** All benchmarks, in the order in which they run. */
export const benchmarks: readonly Benchmark[] = [
  firstEventBench,
  tapToStartBench,
  endToModelBench,
  sshBench,
  manyTasksBench,
  contextBench,
  blastRadiusBench,
  classifyBench,
  sessionsBench,
  startBench,
];
