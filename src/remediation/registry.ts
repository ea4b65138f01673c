import type { Config } from '../config/config.ts';
import { unknownName } from '../config/suggest.ts';
import { TidemarkError } from '../core/errors.ts';
import { discoverFiles, overlayRoots } from '../core/paths.ts';
import type { PlaybookSummary } from '../reports/index.ts';
import { operations } from '../services/index.ts';
import type { Operation } from '../services/operation.ts';
import { createSqlFiles } from '../warehouse/sql-files.ts';
import { loadTables } from '../warehouse/tables.ts';
import type { ActionDefinition, Playbook } from './define.ts';
import { validatePlaybooks } from './validate-playbooks.ts';

/**
 * Checks playbooks, those of the package and the user's, against the rules, tables and operations that exist.
 * @throws TidemarkError CONFIG with one line per problem: `playbook NAME: field: what, what to do`.
 */
export async function loadPlaybooks(
  config: Pick<Config, 'directory'>,
  playbooks: readonly Playbook[],
): Promise<readonly Playbook[]> {
  const roots = overlayRoots(config.directory);
  const rules = new Set((await discoverFiles(roots, 'queries/findings', '.sql')).keys());
  const tables = new Set((await loadTables(createSqlFiles(roots))).keys());
  validatePlaybooks(playbooks, { rules, tables, operations });
  return playbooks;
}

/** @throws TidemarkError USAGE that suggests the closest name. */
export function getPlaybook(playbooks: readonly Playbook[], name: string): Playbook {
  const playbook = playbooks.find((candidate) => candidate.name === name);
  if (playbook) return playbook;
  throw unknownName(
    'playbook',
    name,
    playbooks.map((candidate) => candidate.name),
  );
}

/** @throws TidemarkError UNSAFE: a plan that names an unknown operation was not made by this version. */
export function getOperation(name: string): Operation {
  const operation = operations.get(name);
  if (operation) return operation;
  throw new TidemarkError('UNSAFE', `unknown operation ${name}`, { hint: 'make a new plan' });
}

/** The playbooks, as reports show them. */
export function summarizePlaybooks(playbooks: readonly Playbook[]): readonly PlaybookSummary[] {
  return playbooks.map((playbook) => ({
    playbook: playbook.name,
    rule: playbook.rule,
    about: playbook.description,
    reversible: isReversible(playbook),
  }));
}

/** Whether `playbook undo` restores everything that the playbook changes. */
export function isReversible({ actions }: Playbook): boolean {
  return actions.every((action) => isReversibleAction(action));
}

/** An action of an undo plan is reversible unless it deletes something: to repeat the playbook is to undo it. */
export function isReversibleAction({ undo, operation }: ActionDefinition, isUndo = false): boolean {
  return isUndo ? getOperation(operation).method !== 'DELETE' : undo !== undefined;
}
