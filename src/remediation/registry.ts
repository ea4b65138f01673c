import type { Config } from '../core/config.ts';
import { TidemarkError } from '../core/errors.ts';
import { discover, searchPath } from '../core/paths.ts';
import { nearestName } from '../core/yaml-file.ts';
import { playbooks } from '../playbooks/index.ts';
import type { Playbook } from '../playbooks/playbook.ts';
import { operations } from '../services/index.ts';
import { sqlFiles } from '../warehouse/sql-files.ts';
import { loadTables } from '../warehouse/tables.ts';
import { checkPlaybooks } from './check.ts';

/** Every playbook, checked against the rules, tables and operations that there are. @throws as checkPlaybooks. */
export async function loadPlaybooks(
  config: Pick<Config, 'directory'>,
  registered: readonly Playbook[] = playbooks,
): Promise<readonly Playbook[]> {
  const roots = searchPath(config.directory);
  const rules = new Set((await discover(roots, 'queries/findings', '.sql')).keys());
  const tables = new Set((await loadTables(sqlFiles(roots))).keys());
  checkPlaybooks(registered, { rules, tables, operations });
  return registered;
}

/** @throws TidemarkError USAGE naming the nearest. */
export function playbookNamed(known: readonly Playbook[], name: string): Playbook {
  const playbook = known.find((candidate) => candidate.name === name);
  if (playbook) return playbook;
  const names = known.map((candidate) => candidate.name);
  const nearest = nearestName(name, names);
  throw new TidemarkError('USAGE', `unknown playbook ${name}`, {
    hint: nearest ? `did you mean ${nearest}?` : `known are ${names.join(', ')}`,
  });
}

/** Whether all of its deeds can be undone. */
export function isReversible({ steps }: Playbook): boolean {
  return steps.every(({ operation }) => operations.get(operation)?.reversible === true);
}
