import { type AddAction, type DeltaField, type MetaData, newMetaData, parseFields } from './delta-log.ts';
import type { Relation } from './relations.ts';
import { createField, evolveFields, type MappedColumn } from './schema.ts';

/** A relation as the lake describes it: what a reader without the warehouse needs to know. */
export interface LakeRelation {
  readonly name: string;
  readonly kind: Relation['kind'];
  /** Fields that identify a row. */
  readonly identity: readonly string[];
  readonly columns: readonly MappedColumn[];
  readonly list?: Relation['list'];
}

/** Property of a table with its `LakeRelation` as JSON. */
const RELATION_PROPERTY = 'tidemark.relation';
/** Property with the number of the publish that last changed the description. */
const SINCE_PROPERTY = 'tidemark.since';

export const changesTable = (relation: string): string => `${relation}_changes`;

/** The column of the folders that tables of an earlier version have, and their log and not their files. */
export const FOLDER_COLUMN = 'month';

/** Marks a file whose rows later ones have replaced. */
export const PAST_TAG = { past: 'true' } as const;
export const isPast = ({ tags }: AddAction): boolean => tags?.past === PAST_TAG.past;

const OP = createField('op', 'string', {
  comment:
    '`insert`, `update` or `delete`; `refresh` for a change without a new version; `void` cancels an earlier row',
});
const AS_OF = createField('as_of', 'timestamp', { comment: 'time of the change' });
const PUBLISH = createField('publish', 'long', {
  comment: 'number of the publish; it counts if runs_changes contains it',
});
const OCCURRENCE = createField('occurrence', 'long', { comment: 'counter of rows with equal identity' });

/** The fields that every table begins with. */
function leadingFields({ kind }: Relation): readonly DeltaField[] {
  return [OP, AS_OF, PUBLISH, ...(hasOccurrence(kind) ? [OCCURRENCE] : [])];
}

export function hasOccurrence(kind: Relation['kind']): boolean {
  return kind === 'register' || kind === 'journal';
}

/** The description of a table of an earlier version as it is without folders. */
export function withoutFolders(metaData: MetaData): MetaData {
  const fields = parseFields(metaData).filter(({ name }) => name !== FOLDER_COLUMN);
  return { ...metaData, schemaString: JSON.stringify({ type: 'struct', fields }), partitionColumns: [] };
}

/** Whether a row replaces earlier ones of the same identity. */
export const replacesRows = ({ kind }: LakeRelation): boolean => kind === 'history' || kind === 'register';

/** What a table must be for a relation, and whether it differs from what it is. */
export interface TableDesign {
  readonly relation: LakeRelation;
  readonly fields: readonly DeltaField[];
  /** The metadata to commit; undefined if the table has it already. */
  readonly metaData: MetaData | undefined;
}

interface DesignOptions {
  readonly publish: number;
  readonly nowMs: number;
}

/**
 * The design of a table for a relation of the warehouse, from the one that it has.
 * @param options.publish recorded as the publish that changed the table
 */
export function designTable(
  relation: Relation,
  existing: MetaData | undefined,
  { publish, nowMs }: DesignOptions,
): TableDesign {
  const held = existing ? parseFields(existing) : leadingFields(relation);
  const { fields, columns } = evolveFields(held, relation.columns);
  const described = describeRelation(relation, columns);
  const property = JSON.stringify(described);
  if (existing?.configuration[RELATION_PROPERTY] === property) {
    return { relation: described, fields, metaData: undefined };
  }
  const properties = { [RELATION_PROPERTY]: property, [SINCE_PROPERTY]: String(publish) };
  const created = newMetaData(changesTable(relation.name), relation.description, fields, {
    properties,
    nowMs,
  });
  const metaData = existing
    ? { ...existing, schemaString: created.schemaString, configuration: { ...existing.configuration, ...properties } }
    : created;
  return { relation: described, fields, metaData };
}

function describeRelation({ name, kind, key, list }: Relation, columns: readonly MappedColumn[]): LakeRelation {
  const fields = new Map(columns.map((column) => [column.name, column.field]));
  const identity = key.map((column) => fields.get(column) ?? column);
  return {
    name,
    kind,
    identity: hasOccurrence(kind) ? [...identity, OCCURRENCE.name] : identity,
    columns,
    ...(list && { list }),
  };
}

/** The relation that a table of the lake holds; undefined for a table of another program. */
export function describedRelation(metaData: MetaData | undefined): LakeRelation | undefined {
  const property = metaData?.configuration[RELATION_PROPERTY];
  return property === undefined ? undefined : (JSON.parse(property) as LakeRelation);
}

/** The publish that last changed the description of a table; 0 if none is recorded. */
export function describedSince(metaData: MetaData | undefined): number {
  return Number(metaData?.configuration[SINCE_PROPERTY] ?? 0);
}

/** Fields of the rows of a relation, in the order of its columns, with what identifies them. */
export function rowFields({ columns, kind }: LakeRelation): readonly string[] {
  return [...(hasOccurrence(kind) ? [OCCURRENCE.name] : []), ...columns.map(({ field }) => field)];
}
