import type { Database } from '../core/db/database.ts';
import { loadInventory } from '../core/graph/inventory-file.ts';
import { loadGraph, type LoadReport } from '../core/graph/load.ts';
import { loadOntology } from '../core/graph/ontology-file.ts';

/** Loads the ontology and the inventory into the database. Doing it twice changes nothing. Throws `YamlFileError`. */
export async function seed(
  database: Database,
  files: { ontology: string; inventory: string },
): Promise<LoadReport> {
  const ontology = loadOntology(files.ontology);
  return loadGraph(database, ontology, loadInventory(files.inventory, ontology));
}

/** What a load changed, in one line. */
export function describeLoad(report: LoadReport): string {
  const gone =
    report.gone.length === 0
      ? ''
      : ` No longer in the file, and kept: ${report.gone.slice(0, 10).join(', ')}${report.gone.length > 10 ? ' …' : ''}.`;
  return `${report.added.length} entities added, ${report.updated.length} updated, ${report.relationsAdded} relations added.${gone}`;
}
