import type { Database } from '../core/db/database.ts';
import { loadInventory } from '../core/graph/inventory-file.ts';
import { loadGraph, type LoadReport } from '../core/graph/load.ts';
import { loadOntology } from '../core/graph/ontology-file.ts';
import { loadRunbookFolder } from '../core/knowledge/runbook-file.ts';
import { loadRunbooks, type RunbookReport } from '../core/knowledge/runbooks.ts';

/** What a load changed, in the graph and among the runbooks. */
export interface SeedReport extends LoadReport {
  runbooks: RunbookReport;
}

/**
 * Loads the ontology, the inventory and the folder of runbooks into the database. Doing it twice changes nothing. Throws
 * `YamlFileError`.
 */
export async function seed(
  database: Database,
  files: { ontology: string; inventory: string; runbooks: string },
): Promise<SeedReport> {
  const ontology = loadOntology(files.ontology);
  const inventory = loadInventory(files.inventory, ontology);
  const runbooks = loadRunbookFolder(files.runbooks);
  const report = await loadGraph(database, ontology, inventory);
  return { ...report, runbooks: await loadRunbooks(database, runbooks) };
}

/** What a load changed, in one line. */
export function describeLoad(report: SeedReport): string {
  const { added, updated, kept, gone } = report.runbooks;
  return [
    `${report.added.length} entities added, ${report.updated.length} updated, ${report.relationsAdded} relations added.`,
    few('No longer in the file, and kept', report.gone),
    `${added.length} runbooks added, ${updated.length} updated.`,
    few('Changed here, and kept as they are', kept),
    few('Runbooks without a file, and kept', gone),
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function few(what: string, names: readonly string[]): string {
  if (names.length === 0) return '';
  return `${what}: ${names.slice(0, 10).join(', ')}${names.length > 10 ? ' …' : ''}.`;
}
