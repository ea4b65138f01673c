import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { createRowFormatter } from '../../src/extract/sources/explorer/csv-export.ts';
import { formatRows, ROW_COLUMNS } from '../../src/extract/sources/saved-views.ts';
import { formatRow } from '../../src/landing/csv.ts';
import type { LandingFile, Manifest } from '../../src/landing/store.ts';
import { stage } from '../../src/load/stage.ts';
import { operations } from '../../src/services/index.ts';
import { EXPLORER_FIELDS, type ExplorerView } from '../../src/services/platform/explorer.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables, tablesForSource } from '../../src/warehouse/tables.ts';
import { openCopy } from '../helpers/prepared.ts';
import { cleanAtEnd, tempFolder } from '../helpers/temp.ts';
import { landed } from './landed.ts';

const atEnd = cleanAtEnd();
type Place = string | { readonly reason: string };

/** A group of fields in `fields.yaml`. */
interface Group {
  readonly document: string;
  readonly line: number;
  readonly landing?: string;
  readonly at?: string | number;
  readonly fields?: Readonly<Record<string, Place>>;
  readonly operation?: string;
  readonly parameters?: readonly string[];
  readonly body?: readonly string[];
  readonly unkept?: Readonly<Record<string, string>>;
}

const groups = parse(readFileSync(join(import.meta.dirname, 'fields.yaml'), 'utf8')) as readonly Group[];
const files = createSqlFiles([PACKAGE_ROOT]);
const tables = await loadTables(files);

let folder: string;
let database: Database;
beforeAll(async () => {
  folder = await tempFolder(atEnd);
  database = await openCopy(join(folder, 'warehouse.duckdb'));
});
afterAll(() => database.close());

type Lines = readonly Readonly<Record<string, unknown>>[];

function isExplorerView(source: string): source is ExplorerView {
  return Object.hasOwn(EXPLORER_FIELDS, source);
}

/** Writes a landing as an extraction does. */
function land(source: string, lines: Lines): LandingFile & { readonly path: string } {
  const base = { bytes: 0, sha256: '' };
  if (isExplorerView(source)) {
    const { columns, format } = createRowFormatter(source);
    const path = join(folder, `${source}.csv`);
    writeFileSync(path, `${columns.join(',')}\n${format(lines)}`);
    return { ...base, file: `${source}.csv`, format: 'csv', columns, path };
  }
  if (source === 'saved_view_rows') return landRows(source, lines);
  const path = join(folder, `${source}.ndjson`);
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return { ...base, file: `${source}.ndjson`, format: 'ndjson', path };
}

/** The rows of saved views, which are landed as CSV. */
function landRows(source: string, lines: Lines): LandingFile & { readonly path: string } {
  const rows = lines.flatMap(({ view_id, body }) => {
    const items = (body as { readonly data: readonly unknown[] }).data.map((item) => JSON.stringify(item));
    return [...formatRows(String(view_id), 0, items)];
  });
  const path = join(folder, `${source}.csv`);
  writeFileSync(path, `${ROW_COLUMNS.join(',')}\n${rows.map(formatRow).join('')}`);
  return { file: `${source}.csv`, format: 'csv', columns: ROW_COLUMNS, path, bytes: 0, sha256: '' };
}

const unchanged = new Map<string, Promise<Columns>>();

/** The columns of a source as `landed.ts` has it. */
function loadUnchanged(source: string): Promise<Columns> {
  const known = unchanged.get(source) ?? loadColumns(source, landed[source] ?? []);
  unchanged.set(source, known);
  return known;
}

type Columns = ReadonlyMap<string, string>;

/** The values of each `TABLE.COLUMN` that a source fills, or of one of its tables. */
async function loadColumns(source: string, lines: Lines, only?: string): Promise<Columns> {
  const file = land(source, lines);
  const values = new Map<string, string>();
  for (const table of tablesForSource(source, tables)) {
    if (only !== undefined && table.name !== only) continue;
    const manifest = { target: 't', source, as_of: '2100-01-01T00:00:00Z', files: [file] } as unknown as Manifest;
    await stage({ database, files, tables }, table, [{ manifest, directory: folder, acceptDrop: false }]);
    const rows = await database.rows(`select * from stage_${table.name} order by all`);
    for (const { name } of table.columns) {
      values.set(
        `${table.name}.${name}`,
        JSON.stringify(rows.map((row) => String(JSON.stringify(row[name], bigints)))),
      );
    }
  }
  return values;
}

const bigints = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);

/** A value of the same type that is different. */
function change(value: unknown, part: string | undefined): unknown {
  if (part === 'milliseconds') return String(value).replace('.567', '.568');
  if (typeof value === 'number') return value > Number.MAX_SAFE_INTEGER ? value + 1e9 : value + 1;
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'string') return /^\d{4}-\d\d-\d\dT/u.test(value) ? value.replace('20', '19') : `${value}x`;
  if (Array.isArray(value)) return [...value, changeItem(value[0])];
  const [first] = Object.values(value as object);
  return { ...(value as object), '77': first ?? null };
}

function changeItem(item: unknown): unknown {
  return typeof item === 'object' && item !== null && 'ID' in item ? { ...item, ID: 'other' } : change(item, undefined);
}

function changeAt(root: unknown, path: readonly string[], part: string | undefined): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return change(root, part);
  const parent = root as Readonly<Record<string, unknown>>;
  if (!Object.hasOwn(parent, step)) throw new Error(`landed.ts has no ${step}`);
  const inner = changeAt(parent[step], rest, part);
  return Array.isArray(root)
    ? root.map((item, index) => (index === Number(step) ? inner : item))
    : { ...parent, [step]: inner };
}

/** The columns whose values change when one field changes: of all tables of the source, or of one. */
async function changedColumns(source: string, path: string, only?: string): Promise<readonly string[]> {
  const [steps = '', part] = path.split('~');
  const before = await loadUnchanged(source);
  const after = await loadColumns(source, changeAt(landed[source] ?? [], steps.split('.'), part) as Lines, only);
  return [...after.keys()].filter((column) => before.get(column) !== after.get(column));
}

const fields = groups.flatMap(({ document, line, landing = '', at = '', fields: places = {} }) =>
  Object.entries(places).map(([field, place]) => ({ document, line, field, place, landing, path: `${at}.${field}` })),
);
const kept = fields.filter(({ place }) => typeof place === 'string');
const unkept = fields.filter(({ place }) => typeof place !== 'string');

describe('a field of a response', () => {
  test.each(kept)('$document:$line $path of $landing is in $place', async ({ landing, path, place }) => {
    const [table] = String(place).split('.');
    expect(await changedColumns(landing, path, table)).toContain(place);
  });

  test.each(unkept)('$document:$line $path of $landing is in no column, for a reason', async (field) => {
    expect((field.place as { readonly reason: string }).reason).toMatch(/\w+ \w+/u);
    expect(await changedColumns(field.landing, field.path)).toEqual([]);
  });

  test('a field that is not in landed.ts is noticed', () => {
    expect(() => changeAt(landed.volumes, ['0', 'body', '0', 'Nothing'], undefined)).toThrow('has no Nothing');
  });

  test('every field of landed.ts is in fields.yaml', () => {
    const named = fields.map(({ landing, path }) => `${landing}.${path.split('~')[0]}`);
    const missing = Object.entries(landed).flatMap(([source, lines]) =>
      leaves(lines)
        .map((path) => `${source}.${path}`)
        .filter((path) => !named.some((name) => path === name || path.startsWith(`${name}.`)) && !IGNORED.test(path)),
    );
    expect(missing).toEqual([]);
  });
});

/** What an extraction adds to the responses, fields of the real products alone, and arrays of the same form as another. */
const IGNORED =
  /^\w+\.\d+\.(?:kind|view_id|offset|pool_id|plugin_id|key_name|service|checked_at|name)$|\.(?:JobType|NodeName|Capacity|RequestedCapacity\w+|MountOptions\.FSType|Parameters\.owner|CreateTime|ModifyTime)$|\.(?:Samples|Points)\.0\./u;

function leaves(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [''];
  return Object.entries(value).flatMap(([name, inner]) =>
    leaves(inner).map((path) => (path === '' ? name : `${name}.${path}`)),
  );
}

const requests = groups.flatMap(({ operation, ...rest }) => (operation === undefined ? [] : [{ operation, ...rest }]));

/** Operations of which only the public reference of the product tells. */
const UNDOCUMENTED = ['platform.workspaces.list'];

describe('a field of a request', () => {
  test.each(requests)('$document:$line $operation sends what the document shows', ({ operation, parameters, body }) => {
    const declared = operations.get(operation);
    expect(declared, operation).toBeDefined();
    expect(Object.keys(declared?.params ?? {})).toEqual(expect.arrayContaining([...(parameters ?? [])]));
    const schema = declared?.body ? z.toJSONSchema(declared.body.schema, { unrepresentable: 'any', io: 'input' }) : {};
    const known = `${JSON.stringify(schema)}${declared?.body?.example ?? ''}`;
    for (const field of body ?? []) expect(known).toContain(`"${field}"`);
  });

  test('every operation that a document shows is in fields.yaml', () => {
    const named = new Set(requests.map(({ operation }) => operation));
    const missing = [...operations.values()]
      .filter(({ kind }) => kind !== 'registry')
      .map(({ name }) => name)
      .filter((name) => !named.has(name) && !UNDOCUMENTED.includes(name));
    expect(missing).toEqual([]);
  });
});

test('what is not kept at all has a reason', () => {
  const reasons = groups.flatMap(({ unkept: names = {} }) => Object.values(names));
  for (const reason of reasons) expect(reason).toMatch(/\w+ \w+/u);
});
