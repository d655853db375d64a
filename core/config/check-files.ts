import { loadInventory } from '../graph/inventory-file.ts';
import { loadOntology } from '../graph/ontology-file.ts';
import { loadRunbookFolder } from '../knowledge/runbook-file.ts';
import { loadRules } from '../policy/rules-file.ts';
import { loadChecks } from '../signals/check-file.ts';
import type { Config } from './config.ts';

/**
 * Reads the files that an owner writes, and throws `YamlFileError` for the first that is wrong: told before any service is
 * started or any database is touched (P6, F3, K10).
 */
export function checkFiles(
  files: Pick<Config['files'], 'ontology' | 'inventory' | 'policy' | 'runbooks' | 'checks'>,
): void {
  const ontology = loadOntology(files.ontology);
  loadInventory(files.inventory, ontology);
  loadRules(files.policy, ontology);
  loadRunbookFolder(files.runbooks);
  if (files.checks !== undefined) loadChecks(files.checks, ontology);
}
