import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { loadInventory, type Inventory } from '../../graph/inventory-file.ts';
import { loadOntology, type Ontology } from '../../graph/ontology-file.ts';
import { loadRunbook, runbookFiles } from '../../knowledge/runbook-file.ts';
import { idleWords, nameable, namesNothing } from '../../policy/idle-rules.ts';
import { loadRules, type Rules } from '../../policy/rules-file.ts';
import { loadChecks } from '../../signals/check-file.ts';
import { failed, failure, ok, skipped, warning, type Finding } from './finding.ts';

/** What the files say, and what is wrong with them; `fleet` is undefined when it cannot be read. */
export interface FileCheck {
  findings: Finding[];
  fleet: { ontology: Ontology; inventory: Inventory } | undefined;
}

/** The files that are read at start: each is checked as the start checks it, every fault with its line. */
export function checkFiles(files: Config['files']): FileCheck {
  const findings: Finding[] = [];
  const ontology = attempt(findings, 'ontology', files.ontology, () => {
    const loaded = loadOntology(files.ontology);
    return { loaded, detail: `${loaded.entityTypes.size} types of entities` };
  });
  if (ontology === undefined) {
    for (const name of ['inventory', 'policy', 'checks'])
      findings.push(
        skipped(name, 'it is checked against the ontology, which must be mended first'),
      );
  }
  const inventory =
    ontology === undefined
      ? undefined
      : attempt(findings, 'inventory', files.inventory, () => {
          const loaded = loadInventory(files.inventory, ontology);
          return { loaded, detail: `${loaded.entities.length} entities` };
        });
  if (ontology !== undefined) {
    const policy = attempt(findings, 'policy', files.policy, () => {
      const loaded = loadRules(files.policy, ontology);
      const strict = loaded.decisions === 'strict' ? ', strict decisions' : '';
      return { loaded, detail: `${loaded.rules.length} rules${strict}` };
    });
    if (policy !== undefined && inventory !== undefined)
      findings.push(...rulesForNothing(policy, inventory));
    checks(findings, files.checks, ontology);
  }
  findings.push(...runbooks(files.runbooks), soul(files.soul));
  const fleet =
    ontology === undefined || inventory === undefined ? undefined : { ontology, inventory };
  return { findings, fleet };
}

function checks(findings: Finding[], file: string | undefined, ontology: Ontology): void {
  if (file === undefined) {
    findings.push(skipped('checks', 'NOMOS_CHECKS is off: nothing is looked at by itself'));
    return;
  }
  attempt(findings, 'checks', file, () => {
    const loaded = loadChecks(file, ontology);
    return { loaded, detail: `${loaded.length} checks` };
  });
}

function attempt<T>(
  findings: Finding[],
  name: string,
  file: string,
  load: () => { loaded: T; detail: string },
): T | undefined {
  try {
    const { loaded, detail } = load();
    findings.push(ok(name, `${file}: ${detail}`));
    return loaded;
  } catch (error) {
    findings.push(failure(name, error, `Mend ${file}; nothing starts before.`));
    return undefined;
  }
}

/** A rule about what nobody has is a rule for nothing. */
function rulesForNothing(rules: Rules, { entities }: Inventory): Finding[] {
  return namesNothing(rules, nameable(entities)).map((idle) =>
    warning(
      'policy rule',
      `line ${idle.line}: ${idleWords(idle)}`,
      'Write names as the inventory has them, such as host:db-1; until then the rule protects nothing.',
    ),
  );
}

/** Each runbook by itself, so that a fault in one does not hide those of the others. */
function runbooks(folder: string): Finding[] {
  const findings: Finding[] = [];
  const names = attempt(findings, 'runbooks', folder, () => {
    const loaded = runbookFiles(folder);
    return { loaded, detail: `${loaded.length} files` };
  });
  for (const name of names ?? []) {
    try {
      loadRunbook(join(folder, name));
    } catch (error) {
      findings.push(
        failure('runbook', error, `Mend ${join(folder, name)}; nothing starts before.`),
      );
    }
  }
  return findings;
}

function soul(file: string): Finding {
  try {
    const text = readFileSync(file, 'utf8');
    return text.trim() === ''
      ? failed('persona', `${file} is empty`, 'Set NOMOS_SOUL to a text, or leave it out.')
      : ok('persona', file);
  } catch (error) {
    return failure('persona', error, 'Set NOMOS_SOUL to a readable file, or leave it out.');
  }
}
