import { quoteIdent, quoteLiteral, type SqlFiles } from './sql-files.ts';
import { fillParams } from './sql-params.ts';
import {
  type Column,
  historyTable,
  isNames,
  loadTables,
  type ReadWarehouse,
  sameKey,
  selectPresent,
  type Table,
  withoutComputedFields,
} from './tables.ts';

/** Which versions are compared: of a row `n` with the version `o` before it, and with earlier versions `e` and pulls `p`. */
type Comparison = Readonly<ReturnType<typeof between>>;

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

/** The versions at the time $from with those at $to. */
function between(table: Table) {
  const [from, to] = ['$from::timestamptz', '$to::timestamptz'];
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
export function renderChangesViews(files: SqlFiles, tables: readonly Table[]): readonly string[] {
  return [
    files.render('warehouse/changes', { changes: quoteLiteral(renderRows(files, tables)) }),
    files.render('warehouse/attributed_changes', { query: quoteLiteral(renderAttributed(files, tables, 'changes')) }),
  ];
}

/** A query with the rows of `attributed_changes` of some tables: to plan it for every table takes half a second. */
export function renderChanges(files: SqlFiles, tables: readonly Table[]): string {
  return renderAttributed(files, tables, `(${renderRows(files, tables)})`);
}

function renderAttributed(files: SqlFiles, tables: readonly Table[], changes: string): string {
  return files.render('warehouse/attribute', { changes, actedBy: renderActedBy(files, tables) });
}

export type Times = Readonly<Record<'from' | 'to', string>>;

/** The tables that have changes after one time and up to another. @param tables that are present */
export async function selectChanged({ database, files }: ReadWarehouse, tables: readonly Table[], times: Times) {
  const query = uniteTold(tables, (table) => files.render('warehouse/has_changes', rowParts(table)));
  const changed = new Set((await database.script(fillParams(query, times))).map(({ name }) => name));
  return tables.filter(({ name }) => changed.has(name));
}

/** A query with the rows of `attributed_changes` of the tables that changed after one time and up to another; of any one, where none did. */
export async function renderChangesBetween(read: ReadWarehouse, times: Times) {
  const tables = selectTold(await selectPresent(read, [...loadTables(read.files).values()]));
  const changed = await selectChanged(read, tables, times);
  return renderChanges(read.files, changed.length > 0 ? changed : tables.slice(0, 1));
}

/** SQL for the action that made the change `c`. */
function renderActedBy(files: SqlFiles, tables: readonly Table[]): string {
  const actions = selectTold(tables).flatMap((table) =>
    table.changes.acted.map(({ operation, params }) =>
      files.render('warehouse/table_actions', {
        ...rowParts(table),
        columns: `[${table.columns.map(({ name }) => quoteLiteral(name)).join(', ')}]`,
        operation: quoteLiteral(`${operation}.`),
        params: params.map((param) => `params ->> ${quoteLiteral(param)}`).join(', '),
      }),
    ),
  );
  if (actions.length === 0) return 'null::struct(plan_id varchar, action_id varchar, approved_by varchar)';
  return files.render('warehouse/acted_by', {
    seen: `(${files.render('warehouse/seen_actions', { actions: actions.join('\nunion all\n') })})`,
  });
}

/**
 * A query with the net difference of the times $from and $to, as rows of `changes` with the `action` that made each: `at` is when a row came to be as it is at the later
 * one. Further parameters: `queries/diff/difference.sql`.
 */
export function renderDifference(files: SqlFiles, tables: readonly Table[]): string {
  const parts = { changes: renderRows(files, tables, between), actedBy: renderActedBy(files, tables) };
  return files.render('diff/difference', parts);
}

export function selectTold(tables: readonly Table[]): readonly Table[] {
  return tables.filter(({ source, changes }) => source && !changes.renewed.includes('*'));
}

function uniteTold(tables: readonly Table[], render: (table: Table) => string): string {
  return selectTold(tables).map(render).join('\nunion all\n');
}

/** A query that has a row if a table ever had rows of a subject: a literal of SQL. */
export function renderKnownSubject(files: SqlFiles, tables: readonly Table[], subject: string): string {
  const parts = { subject: quoteLiteral(subject) };
  return uniteTold(tables, (table) => files.render('diff/known_subject', { ...rowParts(table), ...parts }));
}

/** What queries about the rows of one table are rendered with: `{{key n}}` is the key of the version `n`. */
export function rowParts(table: Table) {
  const { key, part, changes } = table;
  const { name, instance } = changes;
  /** `default/db`: the column of the part first. */
  const shown = [...key.filter((column) => column === part), ...key.filter((column) => column !== part)];
  const columnOf = (row: string, column: string) => `${row}.${quoteIdent(column)}`;
  return {
    label: quoteLiteral(table.name),
    source: quoteLiteral(table.source ?? ''),
    history: quoteIdent(historyTable(table)),
    sameKey: (one: string, other: string) => sameKey(table, one, other),
    key: (row: string) => `concat_ws('/', ${shown.map((column) => columnOf(row, column)).join(', ')})`,
    name: (row: string) => (name ? columnOf(row, name) : 'null::varchar'),
    instance: (row: string) => (instance ? `${columnOf(row, instance)}::varchar` : 'null::varchar'),
    /** A row that does not tell what it is may be the same thing. */
    sameThing: (row: string) =>
      instance ? `coalesce(${columnOf(row, instance)} = ${columnOf('n', instance)}, true)` : 'true',
  };
}

function renderRows(
  files: SqlFiles,
  tables: readonly Table[],
  compare: (table: Table) => Comparison = () => SUCCESSIVE,
) {
  return uniteTold(tables, (table) => renderTable(files, table, compare(table)));
}

function renderTable(files: SqlFiles, table: Table, comparison: Comparison): string {
  const { part, changes } = table;
  const { name, instance, isToldInPart } = changes;
  const partNames = part && { name: quoteLiteral(part), column: quoteIdent(part) };
  const isPartKnown = partNames ? files.render('warehouse/part_known', partNames) : 'true';
  const parts = { ...rowParts(table), ...comparison, isPartKnown };
  const render = (query: string, more = {}) => files.render(`warehouse/${query}`, { ...parts, ...more });
  const wasKnown = (after: string) => render('known_before', { after: quoteLiteral(after) });
  return render('table_changes', {
    wasKnown: wasKnown(lastAdded(table, (column) => column === null)),
    earlierInstance: instance ? render('earlier_instance') : 'null::varchar',
    // A name that is part of the key tells nothing that the key does not.
    earlierKey: name && !table.key.includes(name) ? render('earlier_key') : 'null::varchar',
    columns: renderColumns(table, wasKnown),
    unknown: isToldInPart ? 'list_concat(unknown_n.columns, unknown_o.columns)' : 'null::varchar[]',
    unknownColumns: (isToldInPart ? ['n', 'o'] : []).map((row) => render('unknown_columns', { row })).join(''),
    lists: table.members ? render('list_difference', { table: table.name }) : '',
  });
}

const ALWAYS = '-infinity';

/** The time of the last addition of one kind. */
function lastAdded({ additions }: Table, isMeant: (column: string | null) => boolean): string {
  const times = additions.filter(({ column }) => isMeant(column)).map(({ after }) => after);
  return times.sort().at(-1) ?? ALWAYS;
}

/** A list with each column that can change: its name, what a change of it is, and its text in both versions. */
function renderColumns(table: Table, wasKnown: (after: string) => string): string {
  const { changes, columns, computed, key } = table;
  const left = new Set(['target', ...key, ...computed, ...changes.renewed]);
  const items = columns
    .filter(({ name }) => !left.has(name))
    .map((column) => {
      const [old, current] = columnTexts(table, column);
      // What an added column has may have been in `extra` before.
      const after = lastAdded(table, (added) => added === column.name || (added !== null && column.name === 'extra'));
      const known = after === ALWAYS ? old : `if(${wasKnown(after)}, ${old}, ${current})`;
      const parts = [`'column': ${quoteLiteral(column.name)}`, `'old': ${known}`, `'new': ${current}`];
      return `{'change': ${nameChange(table, column)}, ${parts.join(', ')}}`;
    });
  return `[${items.join(',\n')}]`;
}

function nameChange({ changes: { name, place } }: Table, column: Column): string {
  const isOther = (of: string) => `o.${quoteIdent(of)} <> n.${quoteIdent(of)}`;
  const [id] = place;
  if (column.name === name) return `if(${isOther(name)}, 'renamed', 'changed')`;
  return id && place.includes(column.name) ? `if(${isOther(id)}, 'moved', 'changed')` : `'changed'`;
}

/** Names are sorted, because their order says nothing; where they are the same, there is nothing to tell. */
function columnTexts({ members, unordered, computed, changes }: Table, { name, type }: Column) {
  if (name === members) return ['to_json(lists."left")::varchar', 'to_json(lists.arrived)::varchar'];
  const ifOther = (value: string) => `if(o.${quoteIdent(name)} is distinct from n.${quoteIdent(name)}, ${value}, null)`;
  const text = (value: string) => {
    if (name === 'extra') return `${withoutComputedFields(value, [...computed, ...changes.renewed])}::varchar`;
    if (type === 'timestamptz')
      return `replace(strftime(timezone('UTC', ${value}), '%Y-%m-%dT%H:%M:%S.%fZ'), '.000000Z', 'Z')`;
    if (unordered.includes(name)) return ifOther(`array_to_string(list_sort(string_split(${value}, ', ')), ', ')`);
    if (isNames(type)) return ifOther(`to_json(list_sort(${value}))::varchar`);
    return type.endsWith('[]') ? `to_json(${value})::varchar` : `${value}::varchar`;
  };
  return [text(`o.${quoteIdent(name)}`), text(`n.${quoteIdent(name)}`)];
}
