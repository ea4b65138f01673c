import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadConfig } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { PACKAGE_ROOT, searchPath } from '../core/paths.ts';
import { nearestName } from '../core/yaml-file.ts';
import { sqlFiles } from '../warehouse/sql-files.ts';
import { loadTables, type Table } from '../warehouse/tables.ts';
import { textTable } from './text-table.ts';

export function registerTables(program: Command, context: () => Context): void {
  program
    .command('tables')
    .description('the tables, their columns, types and meaning')
    .argument('[name]', 'one table')
    .action((name?: string) => tables(context(), name));
}

async function tables(context: Context, name: string | undefined): Promise<void> {
  const declared = await loadTables(sqlFiles(roots(context)));
  const chosen = name === undefined ? [...declared.values()] : [tableNamed(declared, name)];
  if (context.json) {
    const shown = chosen.map(({ name: table, grain, key, source, columns }) => ({
      table,
      grain,
      key,
      source,
      columns,
    }));
    context.stdout(`${JSON.stringify(name === undefined ? shown : shown[0], null, 2)}\n`);
    return;
  }
  context.stdout(name === undefined ? listing(chosen) : chosen.map(detail).join('\n'));
}

/** The declarations are known without any configuration; a user's own are found beside theirs. */
function roots({ cwd, configFile, env, redactor }: Context): readonly string[] {
  const file = resolve(cwd, configFile);
  return existsSync(file) ? searchPath(loadConfig(file, env, redactor).directory) : [PACKAGE_ROOT];
}

function tableNamed(declared: ReadonlyMap<string, Table>, name: string): Table {
  const table = declared.get(name) ?? declared.get(name.replace(/_(history|at|before)$/u, ''));
  if (table) return table;
  const nearest = nearestName(name, declared.keys());
  throw new TidemarkError('USAGE', `unknown table ${name}`, {
    hint: nearest ? `did you mean ${nearest}?` : 'see `tidemark tables`',
  });
}

function listing(declared: readonly Table[]): string {
  const rows = declared.map(({ name, grain, source }) => [name, grain, source ? `${name}_history, ${name}_at(t)` : '']);
  return `${textTable(['table', 'holds', 'history'], rows)}\n`;
}

function detail({ name, grain, key, columns, source }: Table): string {
  const history = source
    ? `\nhistory: ${name}_history adds valid_from, valid_to; ${name}_at(t) is the table at a moment\nkey: target, ${key.join(', ')}`
    : '';
  const rows = columns.map(({ name: column, type, comment }) => [column, type, comment]);
  return `${name}: ${grain}${history}\n\n${textTable(['column', 'type', 'meaning'], rows)}\n`;
}
