import { listUnknown, type Manifest, type UnknownPart } from '../landing/store.ts';
import { quoteIdent, quoteLiteral } from '../warehouse/sql-files.ts';
import {
  type Column,
  columnList,
  hashedColumn,
  historyTable,
  LIST_TEXT,
  ORDINAL,
  sameKey,
  type Table,
  withoutComputedFields,
} from '../warehouse/tables.ts';

interface StagedLanding {
  readonly manifest: Manifest;
  readonly acceptDrop: boolean;
}

/** What the statements about the stage of a table are rendered with. */
export function stageParts(table: Table, landings: readonly StagedLanding[]) {
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
  return columns.some(({ name }) => name === 'is_ambiguous')
    ? `(is_ambiguous or ${quoteIdent(part)} is null) is true`
    : 'false';
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
export function isNumbered({ key }: Pick<Table, 'key'>): boolean {
  return key.includes(ORDINAL);
}

const withTarget = (names: readonly string[]): readonly string[] => [...new Set(['target', ...names])];

const identifiers = (names: readonly string[]): string => names.map(quoteIdent).join(', ');

export const literals = (texts: readonly string[]): string => texts.map(quoteLiteral).join(', ');

/** SQL that is true for rows of parts that could not be listed. */
function isUnknown({ part }: Table, landings: readonly StagedLanding[]): string {
  const found = landings.flatMap(({ manifest, acceptDrop }) => {
    const unknown = listUnknown(manifest, acceptDrop).filter(({ column }) => column === part);
    return unknown.map((one) => [
      { column: 'target', value: manifest.target },
      one,
      ...(one.within ? [one.within] : []),
    ]);
  });
  if (part === undefined || found.length === 0) return 'false';
  const isEqual = ({ column, value }: Pick<UnknownPart, 'column' | 'value'>) =>
    `${quoteIdent(column)} is not distinct from ${value === null ? 'null' : quoteLiteral(value)}`;
  return found.map((conditions) => `(${conditions.map(isEqual).join(' and ')})`).join(' or ');
}

interface ComparedTable {
  readonly columns: readonly Pick<Column, 'name' | 'type'>[];
  readonly computed: readonly string[];
}

/** The columns whose change makes a version. */
export function comparedColumns({ columns, computed }: ComparedTable): readonly string[] {
  const extra = withoutComputedFields('extra', computed);
  return columns
    .filter(({ name }) => !computed.includes(name))
    .map((column) => (column.name === 'extra' ? extra : hashedColumn(column)));
}

/** The columns that a service computes: `refresh_computed` takes them from the stage. */
function computedParts({ computed }: Table) {
  const columns = [...new Set(computed.map((name) => quoteIdent(name.split('.')[0] ?? name)))];
  return {
    assignments: columns.map((name) => `${name} = stage.${name}`).join(', '),
    differs: columns.map((name) => `open.${name} is distinct from stage.${name}`).join(' or '),
  };
}
