import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import type { LandingFile, Manifest } from '../../src/landing/store.ts';
import { judge } from '../../src/load/judge.ts';
import { merge } from '../../src/load/merge.ts';
import { type Landed, stage, stageParts } from '../../src/load/stage.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { createSqlFiles, quoteIdent, type SqlFiles } from '../../src/warehouse/sql-files.ts';
import { type Column, loadTables, type Table } from '../../src/warehouse/tables.ts';
import { openCopy } from '../helpers/prepared.ts';
import { createStage, mergeFilledStage } from '../helpers/stage.ts';
import { cleanAtEnd, tempFolder } from '../helpers/temp.ts';

const atEnd = cleanAtEnd();

/** A load query of a user, which knows only some columns of the table. */
const SHORT_QUERY = `select name, "type" from read_json(
  $files, format = 'newline_delimited', columns = {name: 'VARCHAR', type: 'VARCHAR'}, maximum_object_size = $longest_line
)`;

let folder: string;
let database: Database;
let files: SqlFiles;
let tables: ReadonlyMap<string, Table>;

beforeAll(async () => {
  folder = await tempFolder(atEnd);
  mkdirSync(join(folder, 'queries', 'load'), { recursive: true });
  writeFileSync(join(folder, 'queries', 'load', 'keys.sql'), SHORT_QUERY);
  files = createSqlFiles([folder, PACKAGE_ROOT]);
  tables = await loadTables(files);
  database = await openCopy(join(folder, 'warehouse.duckdb'));
  atEnd(async () => database.close());
});

function toLanded(target: string, source: string, landed: readonly LandingFile[]): Landed {
  const as_of = '2026-11-20T02:15:00Z';
  const manifest = { target, source, files: landed, expected_rows: null, as_of } as unknown as Manifest;
  return { manifest, directory: folder, acceptDrop: false };
}

function landKeys(target: string, rows: readonly object[]): Landed {
  writeFileSync(join(folder, 'keys.ndjson'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return toLanded(target, 'keys', [{ file: 'keys.ndjson', format: 'ndjson', bytes: 0, sha256: '' }]);
}

const stageOf = (landed: Landed) => {
  const to = { database, files, tables };
  return stage(to, tables.get(landed.manifest.source) as Table, [landed]);
};

test('a column that a load query does not yield is null', async () => {
  const landed = landKeys('vault-1', [
    { name: 'one', type: 'aes256-gcm96' },
    { name: 'two', type: '' },
  ]);
  expect((await stageOf(landed)).facts.get(landed)).toMatchObject({ landed: 2, inserted: 2, error: undefined });
  expect(await database.rows('select target, name, "type", latest_version from stage_keys order by name')).toEqual([
    { target: 'vault-1', name: 'one', type: 'aes256-gcm96', latest_version: null },
    { target: 'vault-1', name: 'two', type: null, latest_version: null },
  ]);
});

test('JSON whose load query is missing is refused: without its rows the table would be empty', async () => {
  await database.run('create table own_history as from keys_history');
  const table = { ...tables.get('keys'), name: 'own', source: 'own' } as Table;
  const landed = landKeys('vault-1', [{ name: 'one' }]);
  const { facts } = await stage({ database, files, tables }, table, [landed]);
  expect(String(facts.get(landed)?.error)).toContain('queries/load/own.sql does not exist');
  const own = await tempFolder();
  mkdirSync(join(own, 'queries/load'), { recursive: true });
  writeFileSync(join(own, 'queries/load/keys_csv.sql'), '-- of exports\nfrom ({{rows}})');
  const both = { database, files: createSqlFiles([own, PACKAGE_ROOT]), tables };
  const read = await stage(both, tables.get('keys') as Table, [landed]);
  expect(read.facts.get(landed)).toMatchObject({ landed: 1, error: undefined });
});

test('a list of the workspaces of a pool that is null is not an empty one; a related resource that is null is none', async () => {
  const relationships = {
    workspaces: { data: null },
    'allowed-workspaces': { data: [{ id: 'ws-1', type: 'workspaces' }] },
    organization: { data: null },
    agents: { links: {} },
  };
  const line = JSON.stringify({ body: { data: [{ id: 'apool-1', attributes: {}, relationships }] } });
  writeFileSync(join(folder, 'pools.ndjson'), `${line}\n`);
  const landed = toLanded('acme', 'agent_pools', [{ file: 'pools.ndjson', format: 'ndjson', bytes: 0, sha256: '' }]);
  expect((await stageOf(landed)).facts.get(landed)).toMatchObject({ landed: 1, error: undefined });
  const [row] = await database.rows('select relationships::varchar as members from stage_agent_pools');
  expect(JSON.parse(String(row?.members))).toEqual({
    agents: null,
    'allowed-workspaces': 1,
    organization: 0,
    workspaces: null,
  });
});

test('a landing without files makes an empty stage, and each of its rows is a deletion', async () => {
  await createStage(database, tables.get('keys') as Table);
  await database.run("insert into stage_keys (target, name) values ('vault-2', 'one')");
  await mergeFilledStage(database, files, tables.get('keys') as Table, {
    target: 'vault-2',
    asOf: '2026-11-01T00:00:00Z',
  });

  const landed = toLanded('vault-2', 'keys', []);
  const compared = await stageOf(landed);

  expect(compared.facts.get(landed)).toMatchObject({ landed: 0, held: 1, deleted: 1, inserted: 0, changed: 0 });
  const refused = { accepted: new Set<Landed>(), asOf: '2026-11-01T00:00:00Z', record: '' };
  await merge({ database, files, tables }, [compared], refused);
  expect(
    await database.rows("select table_name from duckdb_tables() where temporary and table_name like '%keys%'"),
  ).toEqual([]);
});

/** A landing of agents of some pools, of which nothing but `parts` is known. */
function landUnknown(parts: readonly (string | null)[]): Landed {
  const landed = toLanded('parts', 'agents', []);
  const unknown_parts = parts.map((value) => ({ column: 'pool_id', value, reason: 'forbidden' }));
  return { ...landed, manifest: { ...landed.manifest, unknown_parts } };
}

test('rows are looked up in parts that could not be listed, however many: there is no condition for each', async () => {
  const table = tables.get('agents') as Table;
  const parts = Array.from({ length: 2000 }, (_, index) => (index === 0 ? null : `it's apool-${index}`));
  const landed = landUnknown(parts);
  expect(stageParts(table, [landed]).isUnknown.match(/ or | in \(|is not distinct from/gu)).toHaveLength(1);
  await database.run(`insert into agents_history by name
    select
      'parts' as target,
      'agent-' || n as agent_id,
      if(n = 0, null, 'it''s apool-' || n) as pool_id,
      timestamptz '2026-11-19 02:15:00+00' as valid_from
    from range(2010) as numbers(n)`);
  const { facts } = await stageOf(landed);
  expect(facts.get(landed)).toMatchObject({ held: 2010, unknown: 2000, deleted: 10 });
  await database.run("delete from agents_history where target = 'parts'");
});

const unknownPlace = async () => ({});

test.each([
  {
    what: 'a missing key before a repeated one',
    rows: [{ name: 'one' }, { name: 'one' }, { type: 'x' }, { type: 'y' }],
    message: 'keys: 2 rows without name',
  },
  { what: 'a repeated key', rows: [{ name: 'one' }, { name: 'one' }], message: 'keys: 2 rows have the key name "one"' },
])('$what is an objection', async ({ rows, message }) => {
  const landed = landKeys('vault-3', rows);
  const limits = { shrinkPercent: 50, memoryLimit: '1GB' };
  expect(await judge(landed, [await stageOf(landed)], limits, unknownPlace)).toMatchObject({ message });
});

test.each([
  ['loses both of its rows', 'keys', 0, 'keys: every row (2) disappeared at once'],
  ['has two others in their place', 'keys', 2, undefined],
  ['loses both of its rows, which come and go,', 'volume_allocations', 0, undefined],
])('a table that %s is emptied, or not', async (_, name, inserted, message) => {
  const landed = toLanded('acme', name, []);
  const none = { landed: inserted, changed: 0, unknown: 0, gone: 0 };
  const facts = {
    ...none,
    held: 2,
    deleted: 2,
    inserted,
    error: undefined,
    invalidKey: undefined,
    numberedKey: undefined,
  };
  const stages = [{ table: tables.get(name) as Table, facts: new Map([[landed, facts]]) }];
  const verdict = await judge(landed, stages, { shrinkPercent: 50, memoryLimit: '1GB' }, unknownPlace);
  expect(verdict instanceof Error ? verdict.message : undefined).toBe(message);
});

test('the row of a repeated key is found in CSV whose cells have quotes that csv-parse refuses', async () => {
  const columns = ['external_id', 'workspace_name'];
  writeFileSync(join(folder, 'workspaces.csv'), `${columns}\nws-1,a "b" c\nws-2,d\nws-2,e\n`);
  const file = { file: 'workspaces.csv', format: 'csv', bytes: 60, sha256: '', columns } as const;
  const landed = toLanded('acme', 'workspaces', [file]);
  const limits = { shrinkPercent: 50, memoryLimit: '1GB' };
  expect(await judge(landed, [await stageOf(landed)], limits, unknownPlace)).toMatchObject({
    code: 'DATA',
    message: 'workspaces: 2 rows have the key external_id "ws-2": line 4 of workspaces.csv',
  });
});

/** A landed export of `tf_versions`, whose rows name the workspaces that use a version. */
function landVersions(rows: readonly string[], longestLine: number, more: readonly string[] = []): Landed {
  const columns = ['version', 'workspace_count', 'workspaces', ...more];
  const text = [columns.join(','), ...rows, ''].join('\n');
  writeFileSync(join(folder, 'tf_versions.csv'), text);
  const file = {
    file: 'tf_versions.csv',
    format: 'csv',
    bytes: text.length,
    sha256: '',
    columns,
    longestLine,
  } as const;
  return toLanded('acme', 'tf_versions', [file]);
}

test('a number that cannot be read is unknown in its row where the rows were JSON, and refused in an export', async () => {
  const landed = landVersions(['"1.0","many","a",""', '"1.1","2","a,b","{""x"": 1}"'], 100, ['extra']);
  expect((await stageOf(landed)).facts.get(landed)).toMatchObject({ landed: 2, error: undefined });
  expect(await database.rows('select version, workspace_count from stage_tf_versions order by version')).toEqual([
    { version: '1.0', workspace_count: null },
    { version: '1.1', workspace_count: 2 },
  ]);
  const exported = landVersions(['"1.0","many","a"'], 100);
  expect((await stageOf(exported)).facts.get(exported)).toMatchObject({ error: expect.any(Error) });
});

const MEBIBYTE = 1024 * 1024;

test.each([
  ['as long as was measured', (index: number) => 'x'.repeat((2 + (index % 3) / 2) * MEBIBYTE), 3 * MEBIBYTE + 100],
  ['longer than its lines', () => `${'x'.repeat(MEBIBYTE)}\n`.repeat(4), MEBIBYTE + 100],
])('a row of a list that is %s is read', async (_, toNames, longestLine) => {
  const names = Array.from({ length: 12 }, (_row, index) => toNames(index));
  const landed = landVersions(
    names.map((text, index) => `"1.${index}","1","${text}"`),
    longestLine,
  );

  expect((await stageOf(landed)).facts.get(landed)).toMatchObject({ landed: names.length, error: undefined });

  const lengths = await database.rows('select list_text as names from stage_tf_versions order by version');
  expect(lengths.map((row) => String(row.names).length).sort()).toEqual(names.map(({ length }) => length).sort());
});

/** Two values of a type. */
const VALUES: Readonly<Record<string, readonly [string, string]>> = {
  varchar: ["'a'", "'b'"],
  'varchar[]': ["['a']", "['b']"],
  boolean: ['false', 'null'],
  json: [`'{"a": 1}'`, `'{"a": 2}'`],
  timestamptz: ["'2026-01-01 00:00:00+00'", "'2026-01-01 00:00:00.000001+00'"],
};
const NUMBERS = ['0', '1'] as const;

/** Each row has a key of its own; from the first day to the second, it changes in one column. */
async function fillDay({ name, key, columns }: Table, day: 0 | 1): Promise<void> {
  const ownKey = key.filter((one) => one !== 'target' && one !== 'ordinal')[0];
  for (const [index, changing] of columns.entries()) {
    const cells = columns.map((column) => {
      if (column.name === 'target') return "'acme'";
      if (column.name === ownKey) return column.type === 'varchar' ? `'key ${index}'` : String(index);
      const values = VALUES[column.type] ?? NUMBERS;
      return `${values[column === changing ? day : 0]}::${column.type}`;
    });
    await database.run(
      `insert into stage_${name} (${columns.map((one) => quoteIdent(one.name)).join(', ')}) values (${cells.join(', ')})`,
    );
  }
}

test('in every table, a change of any column is a new version of its row, unless the service computes the column', async () => {
  for (const table of [...tables.values()].filter(({ source, key }) => source && !key.includes('target'))) {
    for (const day of [0, 1] as const) {
      await createStage(database, table);
      await fillDay(table, day);
      const asOf = `2026-12-0${day + 1}T00:00:00Z`;
      const changes = await mergeFilledStage(database, files, table, { target: 'acme', asOf });
      const rows = table.columns.length;
      const keys = table.columns.filter(({ name }) => table.key.includes(name) && name !== table.key[0]).length;
      // A changed key is a row that ends and another one that begins.
      const same = 2 + table.computed.filter((name) => !name.startsWith('extra.')).length; // the target, and the row's own key
      const expected =
        day === 0
          ? { deleted: 0, inserted: rows, changed: 0 }
          : { deleted: keys, inserted: keys, changed: rows - keys - same };
      expect({ table: table.name, ...changes }).toEqual({ table: table.name, ...expected });
    }
  }
});

/** Names, and in another order. */
const ORDERS = [
  { list: "['a', null, 'b']", text: "'a, b, a'" },
  { list: "['b', 'a', null]", text: "'b, a, a'" },
];

test('names of a list that a service gives in another order are no new version of its row', async () => {
  const isList = ({ type }: Column) => type === 'varchar[]';
  const listed = [...tables.values()].filter(
    ({ source, columns, unordered }) => source && (unordered.length > 0 || columns.some(isList)),
  );
  for (const table of listed) {
    for (const [day, { list, text }] of ORDERS.entries()) {
      await createStage(database, table);
      const cells = table.columns.map((column) => {
        if (isList(column)) return list;
        if (table.unordered.includes(column.name)) return text;
        return column.type === 'varchar' ? "'other'" : 'null';
      });
      const names = table.columns.map(({ name }) => quoteIdent(name));
      await database.run(`insert into stage_${table.name} (${names.join(', ')}) values (${cells.join(', ')})`);
      const asOf = `2026-12-0${day + 1}T00:00:00Z`;
      const changes = await mergeFilledStage(database, files, table, { target: 'other', asOf });
      const inserted = day === 0 ? 1 : 0;
      expect({ table: table.name, ...changes }).toEqual({ table: table.name, deleted: 0, inserted, changed: 0 });
    }
  }
  expect(listed.map(({ name }) => name)).toEqual(expect.arrayContaining(['mesh_roles', 'workspaces']));
});
