import type { TestProject } from 'vitest/node';
import { ServiceDesk } from './service-desk.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where the workers ask for services. */
    serviceDesk: string;
  }
}

/** Vitest sets each project up by itself, in one process: they share one desk, closed after the last. */
const shared = globalThis as { nomosServiceDesk?: { desk: Promise<ServiceDesk>; users: number } };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const entry = (shared.nomosServiceDesk ??= { desk: ServiceDesk.open(), users: 0 });
  entry.users++;
  project.provide('serviceDesk', (await entry.desk).url);
  return async () => {
    if (--entry.users > 0) return;
    delete shared.nomosServiceDesk;
    await (await entry.desk).close();
  };
}
