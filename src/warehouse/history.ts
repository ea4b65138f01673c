import type { UnknownPart } from '../landing/store.ts';
import type { Database } from './database.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from './sql-files.ts';
import { fillParams } from './sql-params.ts';
import { columnList, historyTable, type Table } from './tables.ts';

/** Rows of one table of one target that a load changes. */
export interface Changes {
  readonly deleted: number;
  readonly inserted: number;
  readonly changed: number;
}

/** What a load changes in one table of one target, in rows. */
export interface Delta extends Changes {
  readonly rowsBefore: number;
  readonly rowsAfter: number;
}

/**
 * Compares the stage with the current rows. `mergeStage` writes the difference.
 * @param isDigested the stage has the digest of each row in the column `DIGEST`, and of the other columns only the key
 * @param unknown parts that could not be listed: their rows are neither deleted nor changed nor added
 */
export async function compareStage(
  database: Database,
  files: SqlFiles,
  table: Table,
  target: string,
  isDigested = false,
  unknown: readonly UnknownPart[] = [],
): Promise<Changes> {
  const digest = digestColumns(table);
  const filters = { isUnknown: isUnknown(table, unknown), isHeld: await isHeldByUnknown(files, table, unknown) };
  const parts = { ...templateParts(table), ...filters, digest, stageDigest: isDigested ? DIGEST : digest };
  const differences = await database.write(await files.render('warehouse/compare_stage', parts), { target });
  if (differences === 0) return { deleted: 0, inserted: 0, changed: 0 };
  const [counts] = await database.rows(await files.render('warehouse/delta_counts', parts));
  return { deleted: Number(counts?.deleted), inserted: Number(counts?.inserted), changed: Number(counts?.changed) };
}

/** The number of current rows of a target in parts that could not be listed. */
export async function countUnknown(
  database: Database,
  files: SqlFiles,
  table: Table,
  target: string,
  unknown: readonly UnknownPart[],
): Promise<number> {
  const parts = { history: historyTable(table), isUnknown: isUnknown(table, unknown) };
  const [count] = await database.rows(await files.render('warehouse/unknown_rows', parts), { target });
  return Number(count?.rows);
}

/** SQL that is true for the rows of these parts. */
function isUnknown({ part }: Table, unknown: readonly UnknownPart[]): string {
  const values = unknown.flatMap(({ column, value }) => (column === part ? [value] : []));
  if (part === undefined || values.length === 0) return 'false';
  const named = values.filter((value) => value !== null).map(quoteLiteral);
  const isNamed = named.length === 0 ? [] : [`coalesce(${quoteIdent(part)} in (${named.join(', ')}), false)`];
  return [...isNamed, ...(values.includes(null) ? [`${quoteIdent(part)} is null`] : [])].join(' or ');
}

/**
 * SQL that is true for a row which may belong to one of these parts, and which that part already has: where a plugin's ID is a prefix,
 * another plugin's list has it as well.
 */
async function isHeldByUnknown(files: SqlFiles, table: Table, unknown: readonly UnknownPart[]): Promise<string> {
  const { part, key, columns } = table;
  if (part === undefined || unknown.length === 0 || !columns.some(({ name }) => name === 'is_ambiguous'))
    return 'false';
  const rest = key.filter((name) => name !== part).map(quoteIdent);
  return files.render('warehouse/held_by_unknown', {
    part: quoteIdent(part),
    history: historyTable(table),
    isUnknown: isUnknown(table, unknown),
    sameRest: rest.map((name) => `held.${name} is not distinct from staged.${name}`).join(' and '),
  });
}

interface MergeOptions {
  readonly target: string;
  /** Later than any `valid_from` of the table (ISO 8601). */
  readonly asOf: string;
  /** What `compareStage` returned. */
  readonly changes: Changes;
  /** Adds the new versions. @default from the stage */
  readonly append?: () => Promise<unknown>;
  /** Bytes of lists that are merged at once, beside one more list: their members are in memory. @default 4 MiB */
  readonly listBytes?: number;
}

const LIST_BYTES = 4 * 1024 * 1024;

/** Writes the difference found by `compareStage`: ends changed and deleted versions, adds changed and new ones. */
export async function mergeStage(
  database: Database,
  files: SqlFiles,
  table: Table,
  { target, asOf, changes, append, listBytes = LIST_BYTES }: MergeOptions,
): Promise<void> {
  const parts = { ...templateParts(table), columns: columnList(table) };
  const params = { as_of: asOf };
  if (table.members) {
    const hasOnlyNewRows = changes.deleted + changes.changed === 0;
    for (const part of await splitLists(database, files, table, listBytes)) {
      const merge = { targets: [target], asOf, hasOnlyNewRows, part };
      await database.script((await listMergeStatements(files, table, merge)).join('\n'));
    }
  }
  await database.run(await files.render('warehouse/close_versions', parts), params);
  if (append) await append();
  else await database.run(await files.render('warehouse/append_versions', parts), params);
  await keepVersions(database, files, table, target);
}

/** Ends a merge, and is all of it where `compareStage` found no difference: computed columns change without a new version. */
export async function keepVersions(database: Database, files: SqlFiles, table: Table, target: string): Promise<void> {
  const parts = templateParts(table);
  if (table.computed.length > 0) {
    await database.run(
      await files.render('warehouse/refresh_computed', {
        ...parts,
        ...computedParts(table),
        targets: quoteLiteral(target),
      }),
    );
  }
  await database.run(await files.render('warehouse/drop_delta', parts));
}

/** What the templates of a comparison and of a merge are rendered with. */
export function templateParts(table: Table): Record<string, string> {
  const same = table.key.map((name) => `stage.${quoteIdent(name)} is not distinct from open.${quoteIdent(name)}`);
  return {
    table: table.name,
    history: historyTable(table),
    sameKey: same.join(' and '),
    key: table.key.map(quoteIdent).join(', '),
  };
}

/** The column of a stage with the digest of a row. */
export const DIGEST = 'content';

/** A 64-bit hash of the columns whose change makes a version: one number per row in memory, however wide the table. */
export function digestColumns(table: Table): string {
  return `hash(${comparedColumns(table).join(', ')})`;
}

interface ComparedTable {
  readonly columns: readonly { readonly name: string }[];
  readonly computed: readonly string[];
}

/** The columns whose change makes a version. */
export function comparedColumns({ columns, computed }: ComparedTable): readonly string[] {
  const fields = computed.flatMap((name) => (name.startsWith('extra.') ? [name.slice('extra.'.length)] : []));
  const withoutFields = JSON.stringify(Object.fromEntries(fields.map((name) => [name, null])));
  const extra = `nullif(if(extra is null, null, json_merge_patch(extra, ${quoteLiteral(withoutFields)}))::varchar, '{}')`;
  return columns
    .filter(({ name }) => !computed.includes(name))
    .map(({ name }) => (name === 'extra' && fields.length > 0 ? extra : quoteIdent(name)));
}

/** What `refresh_computed` is rendered with beside them. */
export function computedParts({ computed }: Table): Record<string, string> {
  const columns = [...new Set(computed.map((name) => quoteIdent(name.split('.')[0] ?? name)))];
  return {
    assignments: columns.map((name) => `${name} = stage.${name}`).join(', '),
    differs: columns.map((name) => `open.${name} is distinct from stage.${name}`).join(' or '),
  };
}

/**
 * Some columns list every workspace that uses something. A change of one workspace would store the whole list again, so the history
 * of such a column is stored per member (`T_members`), with a digest of the list in the row (`T_rows`). The view `T_history`
 * puts the list together again. The stage has both: the digest in the column, so that rows are compared and stored without the
 * list, and the list in `LIST_TEXT`.
 */

/** Rows of the stage, and whether the lists of deleted rows belong to them. */
interface ListPart {
  readonly first: string;
  readonly last: string;
  readonly hasDeleted: boolean;
}

const ALL_LISTS: ListPart = { first: '0', last: String(2n ** 63n - 1n), hasDeleted: true };

/** The lists of a target in parts, since the members of a part are in memory at once. */
async function splitLists(
  database: Database,
  files: SqlFiles,
  { name: table }: Table,
  bytes: number,
): Promise<readonly ListPart[]> {
  const rows = await database.rows(await files.render('warehouse/list_parts', { table, bytes: String(bytes) }));
  const parts = rows.map(({ first, last }, index) => {
    return { first: String(first), last: String(last), hasDeleted: index === 0 };
  });
  return parts.length === 0 ? [ALL_LISTS] : parts;
}

export interface ListMerge {
  readonly targets: readonly string[];
  /** @default all lists */
  readonly part?: ListPart;
  /** ISO 8601. */
  readonly asOf: string;
  /** Whether rows appear only, so that no member is current yet. */
  readonly hasOnlyNewRows: boolean;
}

/**
 * The statements that write the members which were added, removed or moved in changed rows. They must run before the rows themselves
 * are merged.
 */
export async function listMergeStatements(
  files: SqlFiles,
  table: Table,
  { targets, asOf, hasOnlyNewRows, part: { first, last, hasDeleted } = ALL_LISTS }: ListMerge,
): Promise<readonly string[]> {
  const parts = {
    table: table.name,
    targets: targets.map(quoteLiteral).join(', '),
    key: keyList(table),
    listsKey: keyList(table, 'lists.'),
    heldKey: sameKey(table, 'held', 'lists'),
    first,
    last,
    hasDeleted: String(hasDeleted),
  };
  const names = hasOnlyNewRows ? ['list_fill'] : ['list_changes', 'list_close', 'list_append'];
  const texts = await Promise.all(names.map((name) => files.render(`warehouse/${name}`, parts)));
  return texts.map((text) => fillParams(text, { as_of: asOf }));
}

/** Statements that create the member table and the history view. */
export async function listColumnStatements(files: SqlFiles, table: Table): Promise<readonly string[]> {
  const types = new Map(table.columns.map(({ name, type }) => [name, type]));
  const keyColumns = ['target', ...table.key].map((name) => `${quoteIdent(name)} ${types.get(name)}`).join(',\n  ');
  const sameMember = sameKey(table, 'member', 'version');
  const list = await files.render('warehouse/list_value', { table: table.name, sameKey: sameMember });
  const columnsWithList = table.columns
    .map(({ name }) => (name === table.members ? `(${list}) as ${quoteIdent(name)}` : `version.${quoteIdent(name)}`))
    .join(',\n  ');
  return [
    await files.render('warehouse/list_table', { table: table.name, keyColumns }),
    await files.render('warehouse/list_history', { table: table.name, columnsWithList }),
  ];
}

function keyList(table: Table, prefix = ''): string {
  return ['target', ...table.key].map((name) => `${prefix}${quoteIdent(name)}`).join(', ');
}

function sameKey(table: Table, one: string, other: string): string {
  return ['target', ...table.key]
    .map((name) => `${one}.${quoteIdent(name)} is not distinct from ${other}.${quoteIdent(name)}`)
    .join(' and ');
}
