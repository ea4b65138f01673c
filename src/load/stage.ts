import { join } from 'node:path';
import { groupBy } from '../core/group-by.ts';
import { discoverFiles } from '../core/paths.ts';
import { listUnknown, type Manifest } from '../landing/store.ts';
import type { Warehouse } from '../warehouse/session.ts';
import { quoteIdent, quoteLiteral, type SqlFiles, type SqlParts } from '../warehouse/sql-files.ts';
import { classifyStorageError } from '../warehouse/storage.ts';
import {
  type Column,
  columnList,
  hashedColumn,
  hashedNames,
  historyTable,
  LIST_TEXT,
  ORDINAL,
  sameKey,
  type Table,
  withoutComputedFields,
} from '../warehouse/tables.ts';
import type { Row } from '../warehouse/values.ts';
import { renderRowQueries } from './landed-rows.ts';

/** Where rows are loaded. */
export type Destination = Omit<Warehouse, 'assertHeld'>;

/** A landing to load: the rows of one source of one target. */
export interface Landed {
  readonly manifest: Manifest;
  /** Contains the manifest's files. */
  readonly directory: string;
  /** Loads a mass disappearance of rows instead of quarantining it. */
  readonly acceptDrop: boolean;
  /** Loads a table that loses all rows: the other sources of the target are as they should be. @default false */
  readonly acceptEmpty?: boolean;
}

/**
 * The rows of one table that landings of some targets have, in the temporary table `stage_T`; `delta_T` has their difference to the
 * current rows.
 */
export type Stage = Readonly<Awaited<ReturnType<typeof compareStage>>>;

/** Rows of one table of one target that a load changes. */
export interface Changes {
  readonly deleted: number;
  readonly inserted: number;
  readonly changed: number;
}

/** What `judge` decides by. Numbers are of rows. */
export interface Facts extends Changes {
  /** In the landing. */
  readonly landed: number;
  /** Current before the load. */
  readonly held: number;
  /** Of them, in parts that could not be listed: they stay as they are. */
  readonly unknown: number;
  /** Of them, of what was not asked for any more, as no table names it: their end is no loss. */
  readonly gone: number;
  /** Why the landing cannot be read; undefined if it can. */
  readonly error: unknown;
  /** A key that is missing (`is_missing`) or that several rows have (`times`), with its values. */
  readonly invalidKey: Row | undefined;
  /** A key that rows with other values have, which the column `ordinal` keeps apart. */
  readonly numberedKey: Row | undefined;
}

/** Reads the rows of a table that landings have, and compares them with the current ones. @param landings of different targets */
export async function stage(to: Destination, table: Table, landings: readonly Landed[]): Promise<Stage> {
  const columns = stagedColumns(to.files, table);
  await to.database.write(to.files.render('warehouse/stage', columns), { target: '', as_of: null });
  const read = new Map<Landed, Reading>();
  for (const landed of landings) read.set(landed, await readLanding(to, table, columns, landed));
  return compareStage(to, table, read);
}

type Reading = Pick<Facts, 'landed' | 'error'>;

/** Checks the keys of the rows in a stage, and compares them with the current rows of the same targets. */
export async function compareStage({ database, files }: Destination, table: Table, read: ReadonlyMap<Landed, Reading>) {
  const parts = stageParts(table, [...read.keys()]);
  const mayBeHeld = parts.isUnknown !== 'false' && parts.mayBeOther !== 'false';
  const isHeld = mayBeHeld ? files.render('warehouse/held_by_unknown', parts) : 'false';
  const queries = [...(isNumbered(table) ? ['number_repeats'] : []), 'compare_stage', 'stage_changes'];
  const render = (query: string) => files.render(`warehouse/${query}`, { ...parts, isHeld });
  const rows = await database.script(queries.map(render).join('\n'));
  const changes = new Map(rows.map((row) => [String(row.target), row]));
  const facts = [...read].map(([landed, reading]): [Landed, Facts] => {
    const { invalid_key, numbered_key, ...counts } = changes.get(landed.manifest.target) ?? {};
    const keys = { invalidKey: (invalid_key ?? undefined) as Row, numberedKey: (numbered_key ?? undefined) as Row };
    return [landed, { ...NO_ROWS, ...(counts as Partial<typeof NO_ROWS>), ...reading, ...keys }];
  });
  return { table, facts: new Map(facts) };
}

const NO_ROWS = { held: 0, unknown: 0, gone: 0, deleted: 0, inserted: 0, changed: 0 };

/** Adds the rows of a landing to the stage. @throws storage failures */
async function readLanding(to: Destination, table: Table, columns: SqlParts, landed: Landed): Promise<Reading> {
  const { manifest, directory } = landed;
  const landedFiles = manifest.files.map((file) => ({ ...file, path: join(directory, file.file) }));
  let rows = 0;
  try {
    for (const { query, params } of renderRowQueries(to.files, table, landedFiles)) {
      const sql = to.files.render('warehouse/load_rows', { ...columns, rows: query });
      rows += await to.database.write(sql, { ...params, target: manifest.target, as_of: manifest.as_of });
    }
    return { landed: rows, error: undefined };
  } catch (error) {
    if (classifyStorageError(error)) throw error;
    return { landed: rows, error };
  }
}

/** What the statements that write a stage are rendered with. */
function stagedColumns(files: SqlFiles, { name: table, columns, members, past }: Table) {
  const kinds = discoverFiles(files.roots, 'queries/load/values', '.sql');
  /** The value of a column, with the type that the table declares; some kinds need more than a cast. */
  const clean = ({ name, type }: Column): string => {
    if (name === 'target') return '$target::varchar';
    // A field of this name is not ours: repeated rows are numbered.
    if (name === ORDINAL) return `null::${type}`;
    const column = quoteIdent(name);
    const kind = past.includes(name) ? 'past' : type;
    return kinds.has(kind) ? files.render(`load/values/${kind}`, { column, name }).trim() : `${column}::${type}`;
  };
  const values = columns.map((column) => {
    const value = clean(column);
    return `${column.name === members ? `${value} as ${LIST_TEXT}, md5(${value})` : value} as ${quoteIdent(column.name)}`;
  });
  const nulls = columns.map(({ name }) => `null as ${quoteIdent(name)}`);
  return { table, columns: values.join(',\n  '), nulls: nulls.join(', ') };
}

/** What the statements about the stage of a table are rendered with. */
export function stageParts(table: Table, landings: readonly Pick<Landed, 'manifest' | 'acceptDrop'>[]) {
  return {
    ...keyParts(table),
    table: table.name,
    history: historyTable(table),
    columns: columnList(table),
    key: identifiers(withTarget(table.key)),
    sameKey: sameKey(table, 'stage', 'open'),
    // one number per row in memory, however wide the table
    digest: `hash(${comparedColumns(table).join(', ')})`,
    targets: literals(landings.map(({ manifest }) => manifest.target)),
    isUnknown: isUnknown(table, landings),
    isGone: isGone(table),
    mayBeOther: mayBeOther(table),
    part: quoteIdent(table.part ?? 'target'),
    sameRest: sameKey({ key: table.key.filter((name) => name !== table.part) }, 'held', 'staged'),
    ...computedParts(table),
  };
}

/**
 * SQL that is true for a staged row which may be one of another part. Where a plugin's ID is a prefix, a row that is listed for one plugin
 * may be of another one; and a part that is not in the key does not tell rows apart.
 */
function mayBeOther({ key, part = 'target', columns }: Table): string {
  if (!withTarget(key).includes(part)) return 'true';
  const isTold = columns.some(({ name }) => name === 'is_ambiguous');
  return isTold ? `(is_ambiguous or ${quoteIdent(part)} is null) is true` : 'false';
}

/** Rows of what another table does not name any more, so that nothing of it was asked for. */
function isGone({ name, follows }: Table): string {
  if (follows === undefined) return 'false';
  const key = `(target, ${quoteIdent(follows)})`;
  return `${key} not in (select ${key} from stage_${name})`;
}

/** The key as a reader knows it, and what must be unique: without an ID, a row is known by all of its values. */
function keyParts({ key, columns, members }: Table) {
  const names = key.filter((name) => name !== ORDINAL);
  const content = columns.filter(({ name }) => name !== ORDINAL).map(hashedColumn);
  const known = identifiers(withTarget(names));
  // What tells rows with one key apart is most likely in fields that are not documented.
  const order = ['extra', ...columns.map(({ name }) => name).filter((name) => name !== 'extra')];
  return {
    names: known,
    unique: isNumbered({ key }) ? `${known}, hash(${content.join(', ')})` : known,
    isNumbered: String(isNumbered({ key })),
    keyMissing: `${quoteIdent(names[0] ?? 'target')} is null`,
    order: order.map((name) => `${quoteIdent(name === members ? LIST_TEXT : name)}::varchar nulls first`).join(', '),
  };
}

/** Whether rows with one key and other values are kept apart by a number. */
function isNumbered({ key }: Pick<Table, 'key'>): boolean {
  return key.includes(ORDINAL);
}

const withTarget = (names: readonly string[]): readonly string[] => [...new Set(['target', ...names])];

const identifiers = (names: readonly string[]): string => names.map(quoteIdent).join(', ');

export const literals = (texts: readonly string[]): string => texts.map(quoteLiteral).join(', ');

/**
 * SQL that is true for rows of parts that could not be listed. DuckDB looks a row up in a list of constants, where it would compare it with
 * each of many conditions; in lists, null is equal to null.
 */
function isUnknown({ part }: Table, landings: readonly Pick<Landed, 'manifest' | 'acceptDrop'>[]): string {
  if (part === undefined) return 'false';
  const found = landings.flatMap(({ manifest, acceptDrop }) =>
    listUnknown(manifest, acceptDrop).flatMap(({ column, value, within }) =>
      column === part ? { target: manifest.target, value, within } : [],
    ),
  );
  const conditions = [...groupBy(found, ({ within }) => within?.column)].map(([column, parts]) => {
    const rows = parts.map(({ target, value, within }) => listSql([target, value, ...(within ? [within.value] : [])]));
    const names = ['target', part, ...(column === undefined ? [] : [column])];
    return `[${names.map((name) => `${quoteIdent(name)}::varchar`).join(', ')}] in (${rows.join(', ')})`;
  });
  return conditions.length === 0 ? 'false' : conditions.join(' or ');
}

const listSql = (values: readonly (string | null)[]): string =>
  `[${values.map((value) => (value === null ? 'null' : quoteLiteral(value))).join(', ')}]`;

interface ComparedTable {
  readonly columns: readonly Pick<Column, 'name' | 'type'>[];
  readonly computed: readonly string[];
  readonly unordered: readonly string[];
}

/** The columns whose change makes a version. */
export function comparedColumns({ columns, computed, unordered }: ComparedTable): readonly string[] {
  const extra = withoutComputedFields('extra', computed);
  const compared = (column: ComparedTable['columns'][number]): string => {
    if (column.name === 'extra') return extra;
    return unordered.includes(column.name) ? hashedNames(column.name) : hashedColumn(column);
  };
  return columns.filter(({ name }) => !computed.includes(name)).map(compared);
}

/** The columns that a service computes: `refresh_computed` takes them from the stage. */
function computedParts({ computed }: Table) {
  const columns = [...new Set(computed.map((name) => quoteIdent(name.split('.')[0] ?? name)))];
  return {
    assignments: columns.map((name) => `${name} = stage.${name}`).join(', '),
    differs: columns.map((name) => `open.${name} is distinct from stage.${name}`).join(' or '),
  };
}
