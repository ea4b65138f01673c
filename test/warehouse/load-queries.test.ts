import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { discoverFiles, PACKAGE_ROOT } from '../../src/core/paths.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables } from '../../src/warehouse/tables.ts';
import { tempFolder } from '../helpers/temp.ts';

const files = createSqlFiles([PACKAGE_ROOT]);
const loads = [...(await discoverFiles([PACKAGE_ROOT], 'queries/load', '.sql')).keys()].filter(
  (name) => !name.endsWith('_csv'),
);

test('a load query yields every column of its table but the target', async () => {
  const path = join(await tempFolder(), 'empty.ndjson');
  writeFileSync(path, '');
  const database = await openDatabase(':memory:');
  onTestFinished(() => database.close());
  for (const name of ['semver_key', 'read_time'])
    await database.script(files.render(`warehouse/${name}`, { scope: '' }));
  const tables = await loadTables(files);
  const missing: string[] = [];
  for (const name of loads) {
    const params = { files: [path], longest_line: 1_048_576, target: 'acme', as_of: '2026-11-01T00:00:00Z' };
    const shape = await database.rows(`describe ${await files.read(`load/${name}`)}`, params);
    const columns = new Set(shape.map(({ column_name }) => String(column_name)));
    const needed = tables.get(name)?.columns.filter((column) => !['target', 'ordinal'].includes(column.name)) ?? [];
    missing.push(...needed.flatMap((column) => (columns.has(column.name) ? [] : `${name}.${column.name}`)));
  }
  expect(missing).toEqual([]);
});

test('no load query lets DuckDB find out whether lines are records, for which it would parse the file twice', async () => {
  const texts = await Promise.all(loads.map(async (name) => ({ name, sql: await files.read(`load/${name}`) })));
  const reads = ({ sql }: (typeof texts)[number]) => sql.split('read_json(').length - 1;
  const declared = ({ sql }: (typeof texts)[number]) => sql.split('records = true').length - 1;
  expect(texts.filter((one) => reads(one) !== declared(one)).map(({ name }) => name)).toEqual([]);
});
