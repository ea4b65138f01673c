import { sameKey } from './list-columns.ts';
import { type ReadWarehouse, selectPresent } from './present-tables.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from './sql-files.ts';
import { fillParams } from './sql-params.ts';
import { type Column, historyTable, loadTables, type Table, withoutComputedFields } from './tables.ts';

/** Which versions are compared: of a row `n` with the version `o` before it, and with earlier versions `e` and pulls `p`. */
type Comparison = Readonly<
  Record<'begins' | 'ends' | 'meets' | 'differs' | 'knownBefore' | 'heldBefore' | 'endedAt', string>
>;

/** Each version with the one that it follows. */
const SUCCESSIVE: Comparison = {
  begins: 'true',
  ends: 'o.valid_to is not null',
  meets: 'o.valid_to = n.valid_from',
  differs: 'true',
  knownBefore: 'p.as_of < n.valid_from',
  heldBefore: 'e.valid_from < n.valid_from',
  endedAt: 'o.valid_to',
};

/** The versions at one time with those at another. @param from SQL, as `to` */
function between(table: Table, from: string, to: string): Comparison {
  const validAt = (row: string, time: string) =>
    `${row}.valid_from <= ${time} and (${row}.valid_to is null or ${row}.valid_to > ${time})`;
  return {
    begins: validAt('n', to),
    ends: validAt('o', from),
    meets: 'true',
    differs: `n.valid_from > ${from}`,
    knownBefore: `p.as_of <= ${from}`,
    heldBefore: `e.valid_from <= ${from}`,
    endedAt: `(select max(e.valid_to) from ${historyTable(table)} as e where ${sameKey(table, 'e', 'o')} and e.valid_to <= ${to})`,
  };
}

/** The views `changes`, over the history of every table that does not renew itself, and `attributed_changes`. */
export async function renderChangesViews(files: SqlFiles, tables: readonly Table[]): Promise<readonly string[]> {
  return [
    await files.render('warehouse/changes', { changes: await renderRows(files, tables) }),
    await files.render('warehouse/attributed_changes', { query: await renderAttributed(files, tables, 'changes') }),
  ];
}

/** A query with the rows of `attributed_changes` of some tables: to plan it for every table takes half a second. */
export async function renderChanges(files: SqlFiles, tables: readonly Table[]): Promise<string> {
  return renderAttributed(files, tables, `(${await renderRows(files, tables)})`);
}

async function renderAttributed(files: SqlFiles, tables: readonly Table[], changes: string): Promise<string> {
  return files.render('warehouse/attribute', { changes, actedBy: await renderActedBy(files, tables) });
}

/** The tables that have changes after one time and up to another. @param tables that are present */
export async function selectChanged(
  { database, files }: ReadWarehouse,
  tables: readonly Table[],
  times: Readonly<Record<'from' | 'to', string>>,
): Promise<readonly Table[]> {
  const queries = selectTold(tables).map((table) =>
    files.render('warehouse/has_changes', {
      label: quoteLiteral(table.name),
      history: quoteIdent(historyTable(table)),
    }),
  );
  const rows = await database.script(fillParams((await Promise.all(queries)).join('\nunion all\n'), times));
  const changed = new Set(rows.map(({ name }) => name));
  return tables.filter(({ name }) => changed.has(name));
}

/** A query with the rows of `attributed_changes` of the tables that changed after one time and up to another; undefined where none did. */
export async function renderChangesBetween(
  read: ReadWarehouse,
  times: Readonly<Record<'from' | 'to', string>>,
): Promise<string | undefined> {
  const tables = await selectPresent(read, [...(await loadTables(read.files)).values()]);
  const changed = await selectChanged(read, tables, times);
  return changed.length === 0 ? undefined : renderChanges(read.files, changed);
}

/** SQL for the action that made the change `c`. */
async function renderActedBy(files: SqlFiles, tables: readonly Table[]): Promise<string> {
  const actions = await Promise.all(selectTold(tables).flatMap((table) => renderActions(files, table)));
  if (actions.length === 0) return 'null::struct(plan_id varchar, action_id varchar, approved_by varchar)';
  const seen = await files.render('warehouse/seen_actions', { actions: actions.join('\nunion all\n') });
  return files.render('warehouse/acted_by', { seen: `(${seen})` });
}

function renderActions(files: SqlFiles, { name, source, columns, changes }: Table): readonly Promise<string>[] {
  return changes.acted.map(({ operation, params }) =>
    files.render('warehouse/table_actions', {
      label: quoteLiteral(name),
      source: quoteLiteral(source ?? ''),
      columns: `[${columns.map((column) => quoteLiteral(column.name)).join(', ')}]`,
      operation: quoteLiteral(`${operation}.`),
      params: params.map((param) => `params ->> ${quoteLiteral(param)}`).join(', '),
    }),
  );
}

/**
 * A query with the net difference of the times $from and $to, as rows of `changes` with the `action` that made each: `at` is when a row came to be as it is at the later
 * one. Further parameters: `queries/diff/difference.sql`.
 */
export async function renderDifference(files: SqlFiles, tables: readonly Table[]): Promise<string> {
  const compare = (table: Table) => between(table, '$from::timestamptz', '$to::timestamptz');
  const parts = { changes: await renderRows(files, tables, compare), actedBy: await renderActedBy(files, tables) };
  return files.render('diff/difference', parts);
}

/** The tables whose changes are told. */
export function selectTold(tables: readonly Table[]): readonly Table[] {
  return tables.filter(({ source, changes }) => source && !changes.renewed.includes('*'));
}

/** A query that has a row if a table ever had rows of a subject: a literal of SQL. */
export async function renderKnownSubject(files: SqlFiles, tables: readonly Table[], subject: string): Promise<string> {
  const queries = selectTold(tables).map((table) => {
    const parts = { key: keyText(table, 'n'), name: nameText(table, 'n'), subject: quoteLiteral(subject) };
    return files.render('diff/known_subject', { ...parts, history: quoteIdent(historyTable(table)) });
  });
  return (await Promise.all(queries)).join('\nunion all\n');
}

async function renderRows(
  files: SqlFiles,
  tables: readonly Table[],
  compare: (table: Table) => Comparison = () => SUCCESSIVE,
): Promise<string> {
  const queries = selectTold(tables).map((table) => renderTable(files, table, compare(table)));
  return (await Promise.all(queries)).join('\nunion all\n');
}

async function renderTable(files: SqlFiles, table: Table, comparison: Comparison): Promise<string> {
  const { instance } = table.changes;
  const history = quoteIdent(historyTable(table));
  const wasKnown = (after: string) => renderWasKnown(files, table, comparison, after);
  return files.render('warehouse/table_changes', {
    ...comparison,
    history,
    label: quoteLiteral(table.name),
    wasKnown: await wasKnown(lastAdded(table, (column) => column === null)),
    sameKey: sameKey(table, 'o', 'n'),
    sameThing: isSameThing(table, 'o'),
    sameAsHeld: `${sameKey(table, 'e', 'n')} and ${isSameThing(table, 'e')}`,
    key: keyText(table, 'n'),
    oldKey: keyText(table, 'o'),
    name: nameText(table, 'n'),
    oldName: nameText(table, 'o'),
    instance: instance ? `n.${quoteIdent(instance)}::varchar` : 'null::varchar',
    earlierInstance: await renderEarlierInstance(files, table, history),
    earlierKey: await renderEarlierKey(files, table, history),
    columns: await renderColumns(table, wasKnown),
    ...(await renderUnknownColumns(files, table)),
    lists: table.members
      ? await files.render('warehouse/list_difference', { table: table.name, sameKey: sameKey(table, 'member', 'n') })
      : '',
  });
}

function renderWasKnown(files: SqlFiles, table: Table, { knownBefore }: Comparison, after: string): Promise<string> {
  const parts = { source: quoteLiteral(table.source ?? ''), isPartKnown: isPartKnown(table) };
  return files.render('warehouse/known_before', { ...parts, knownBefore, after: quoteLiteral(after) });
}

const ALWAYS = '-infinity';

/** The time of the last addition of one kind. */
function lastAdded({ additions }: Table, isMeant: (column: string | null) => boolean): string {
  const times = additions.filter(({ column }) => isMeant(column)).map(({ after }) => after);
  return times.sort().at(-1) ?? ALWAYS;
}

/** SQL for the columns that the service did not tell, and what joins them. */
async function renderUnknownColumns(files: SqlFiles, { source, changes }: Table) {
  if (!changes.isToldInPart) return { unknown: 'null::varchar[]', unknownColumns: '' };
  const parts = { source: quoteLiteral(source ?? '') };
  const joins = ['n', 'o'].map((row) => files.render('warehouse/unknown_columns', { ...parts, row }));
  return {
    unknown: 'list_concat(unknown_n.columns, unknown_o.columns)',
    unknownColumns: (await Promise.all(joins)).join(''),
  };
}

/** A row that does not tell what it is may be the same thing. */
function isSameThing({ changes: { instance } }: Table, row: string): string {
  return instance ? `coalesce(${row}.${quoteIdent(instance)} = n.${quoteIdent(instance)}, true)` : 'true';
}

/** `default/db`: the columns of the key, that of the part first. */
export function keyText({ key, part }: Table, row: string): string {
  const columns = [...key.filter((name) => name === part), ...key.filter((name) => name !== part)];
  return `concat_ws('/', ${columns.map((name) => `${row}.${quoteIdent(name)}`).join(', ')})`;
}

function nameText({ changes: { name } }: Table, row: string): string {
  return name ? `${row}.${quoteIdent(name)}` : 'null::varchar';
}

async function renderEarlierInstance(files: SqlFiles, table: Table, history: string): Promise<string> {
  const { instance } = table.changes;
  if (!instance) return 'null::varchar';
  return files.render('warehouse/earlier_instance', {
    history,
    instance: `f.${quoteIdent(instance)}::varchar`,
    isSelf: sameKey(table, 'f', 'n'),
    isOther: `not ${isSameThing(table, 'f')}`,
  });
}

/** A name that is part of the key tells nothing that the key does not. */
async function renderEarlierKey(files: SqlFiles, table: Table, history: string): Promise<string> {
  const { name } = table.changes;
  if (!name || table.key.includes(name)) return 'null::varchar';
  return files.render('warehouse/earlier_key', {
    history,
    key: keyText(table, 'f'),
    name: nameText(table, 'f'),
    ownName: nameText(table, 'n'),
    isSelf: sameKey(table, 'f', 'n'),
    sameKey: sameKey(table, 'f', 'g'),
  });
}

/** Whether the pull `p` could list the part that `n` belongs to. */
function isPartKnown({ part }: Table): string {
  if (!part) return 'true';
  const unknown = `from_json(p.unknown_parts, '[{"column": "varchar", "value": "varchar"}]')`;
  const ofColumn = `list_filter(${unknown}, lambda part: part."column" = ${quoteLiteral(part)})`;
  const values = `list_transform(${ofColumn}, lambda part: coalesce(part.value, ''))`;
  return `not coalesce(list_contains(${values}, coalesce(n.${quoteIdent(part)}, '')), false)`;
}

/** A list with each column that can change: its name, what a change of it is, and its text in both versions. */
async function renderColumns(table: Table, wasKnown: (after: string) => Promise<string>): Promise<string> {
  const { changes, columns, computed, key } = table;
  const left = new Set(['target', ...key, ...computed, ...changes.renewed]);
  const items = columns
    .filter(({ name }) => !left.has(name))
    .map(async (column) => {
      const [old, current] = columnTexts(table, column);
      // What an added column has may have been in `extra` before.
      const after = lastAdded(table, (added) => added === column.name || (added !== null && column.name === 'extra'));
      const known = after === ALWAYS ? old : `if(${await wasKnown(after)}, ${old}, ${current})`;
      const parts = [`'column': ${quoteLiteral(column.name)}`, `'old': ${known}`, `'new': ${current}`];
      return `{'change': ${nameChange(table, column)}, ${parts.join(', ')}}`;
    });
  return `[${(await Promise.all(items)).join(',\n')}]`;
}

function nameChange({ changes: { name, place } }: Table, column: Column): string {
  const isOther = (of: string) => `o.${quoteIdent(of)} <> n.${quoteIdent(of)}`;
  const [id] = place;
  if (column.name === name) return `if(${isOther(name)}, 'renamed', 'changed')`;
  return id && place.includes(column.name) ? `if(${isOther(id)}, 'moved', 'changed')` : `'changed'`;
}

function columnTexts(
  { members, computed, changes }: Table,
  { name, type }: Column,
): readonly [old: string, current: string] {
  if (name === members) return ['to_json(lists."left")::varchar', 'to_json(lists.arrived)::varchar'];
  const text = (value: string) => {
    if (name === 'extra') return `${withoutComputedFields(value, [...computed, ...changes.renewed])}::varchar`;
    if (type === 'timestamptz')
      return `replace(strftime(timezone('UTC', ${value}), '%Y-%m-%dT%H:%M:%S.%fZ'), '.000000Z', 'Z')`;
    return type.endsWith('[]') ? `to_json(${value})::varchar` : `${value}::varchar`;
  };
  return [text(`o.${quoteIdent(name)}`), text(`n.${quoteIdent(name)}`)];
}
