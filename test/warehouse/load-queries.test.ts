import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readTime } from '../../src/core/clock.ts';
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

test('the guards of playbooks read a time as a pull does, in whatever zone this machine is', async () => {
  const { TZ } = process.env;
  process.env.TZ = 'Asia/Tokyo';
  onTestFinished(() => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });
  const database = await openDatabase(':memory:');
  onTestFinished(() => database.close());
  await database.script(files.render('warehouse/read_time', { scope: '' }));
  const forms: readonly unknown[] = [
    ...['2026-10-01T02:15:00Z', '2026-10-01T02:15:00', '2026-10-01 02:15:00 UTC'],
    ...['2026-10-01T04:15:00.000+02:00', '2026-10-01T04:15:00+0200', '2026-10-01T04:15:00+02', '2026-10-01 02:15:00'],
    ...['2026-10-01 02:15:00.000000001 +0000 UTC', '2026-10-01 04:15:00 +0200 CEST', '2026-09-30 23:15:00 -0300 -03'],
    ...[1_790_820_900, '1790820900', 1_790_820_900_000, '1.7908209e15', 1_790_820_900_000_000_001n],
  ];
  const read = async (form: unknown) => {
    const [row] = await database.rows('select read_time($value) as time', {
      value: form === null ? null : String(form),
    });
    return [row?.time, readTime(form)?.toISOString().replace('.000Z', 'Z') ?? null];
  };
  const time = '2026-10-01T02:15:00Z';
  for (const form of forms) expect(await read(form), String(form)).toEqual([time, time]);
  for (const none of [0, '0', -1, '', null]) expect(await read(none), String(none)).toEqual([null, null]);
  for (const unread of ['soon', Number.POSITIVE_INFINITY, 1e22, {}, true]) expect(readTime(unread)).toBeUndefined();
});

test('no load query lets DuckDB find out whether lines are records, for which it would parse the file twice', async () => {
  const texts = await Promise.all(loads.map(async (name) => ({ name, sql: await files.read(`load/${name}`) })));
  const reads = ({ sql }: (typeof texts)[number]) => sql.split('read_json(').length - 1;
  const declared = ({ sql }: (typeof texts)[number]) => sql.split('records = true').length - 1;
  expect(texts.filter((one) => reads(one) !== declared(one)).map(({ name }) => name)).toEqual([]);
});
