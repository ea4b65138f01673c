import {
  type AddAction,
  type DeltaField,
  type MetaData,
  newMetaData,
  parseFields,
  toSchemaString,
} from './delta-log.ts';
import type { Relation, WarehouseColumn } from './relations.ts';

/** A column of the warehouse and the field of the lake that holds it. */
export interface MappedColumn extends Pick<WarehouseColumn, 'name' | 'type'> {
  readonly field: string;
}

/** A relation as the lake describes it: what a reader without the warehouse needs to know. */
export interface LakeRelation extends Pick<Relation, 'name' | 'kind'> {
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

const OP = createField(
  'op',
  'string',
  '`insert`, `update` or `delete`; `refresh` for a change without a new version; `void` cancels an earlier row',
);
const AS_OF = createField('as_of', 'timestamp', 'time of the change');
const PUBLISH = createField('publish', 'long', 'number of the publish; it counts if runs_changes contains it');
const OCCURRENCE = createField('occurrence', 'long', 'counter of rows with equal identity');

export const hasOccurrence = ({ kind }: Pick<Relation, 'kind'>): boolean => kind === 'register' || kind === 'journal';

/** Whether a row replaces earlier ones of the same identity. */
export const replacesRows = ({ kind }: LakeRelation): boolean => kind === 'history' || kind === 'register';

/** The description of a table of an earlier version as it is without folders. */
export function withoutFolders(metaData: MetaData): MetaData {
  const fields = parseFields(metaData).filter(({ name }) => name !== FOLDER_COLUMN);
  return { ...metaData, schemaString: toSchemaString(fields), partitionColumns: [] };
}

/** What a table must be for a relation, and whether it differs from what it is. */
export interface TableDesign {
  readonly relation: LakeRelation;
  readonly fields: readonly DeltaField[];
  /** The metadata to commit; undefined if the table has it already. */
  readonly metaData: MetaData | undefined;
}

/**
 * The design of a table for a relation of the warehouse, from the one that it has.
 * @param options.publish recorded as the publish that changed the table
 */
export function designTable(
  source: Relation,
  existing: MetaData | undefined,
  { publish, nowMs }: { readonly publish: number; readonly nowMs: number },
): TableDesign {
  const leading = [OP, AS_OF, PUBLISH, ...(hasOccurrence(source) ? [OCCURRENCE] : [])];
  const { fields, columns } = evolveFields(existing ? parseFields(existing) : leading, source.columns);
  const relation = describeRelation(source, columns);
  const property = JSON.stringify(relation);
  if (existing?.configuration[RELATION_PROPERTY] === property) return { relation, fields, metaData: undefined };
  const base = existing ?? newMetaData(changesTable(source.name), source.description, nowMs);
  const configuration = { ...base.configuration, [RELATION_PROPERTY]: property, [SINCE_PROPERTY]: String(publish) };
  return { relation, fields, metaData: { ...base, schemaString: toSchemaString(fields), configuration } };
}

function describeRelation({ name, kind, key, list }: Relation, columns: readonly MappedColumn[]): LakeRelation {
  const identity = key.map((column) => columns.find((one) => one.name === column)?.field ?? column);
  if (hasOccurrence({ kind })) identity.push(OCCURRENCE.name);
  return { name, kind, identity, columns, ...(list && { list }) };
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
export function rowFields(relation: LakeRelation): readonly string[] {
  const fields = relation.columns.map(({ field }) => field);
  return hasOccurrence(relation) ? [OCCURRENCE.name, ...fields] : fields;
}

/** Fields of every table of the lake, and columns that its folders divide. A column of the warehouse with such a name gets a prefix. */
const RESERVED = new Set(['op', 'as_of', 'publish', 'occurrence', 'month', 'quarter', 'valid_from', 'valid_to']);
const PREFIX = 'row_';
/** Queries over the lake use such names for their own columns. */
const OWN = /^lake_/iu;

const TEXTS: DeltaField['type'] = { type: 'array', elementType: 'string', containsNull: true };

/** The types of DuckDB that Delta has, and what DuckDB writes where that is another one. */
const TYPES: Readonly<Record<string, { readonly delta: DeltaField['type']; readonly written?: string }>> = {
  VARCHAR: { delta: 'string' },
  BOOLEAN: { delta: 'boolean' },
  TINYINT: { delta: 'byte' },
  SMALLINT: { delta: 'short' },
  INTEGER: { delta: 'integer' },
  BIGINT: { delta: 'long' },
  UBIGINT: { delta: 'decimal(20,0)', written: 'decimal(20,0)' },
  FLOAT: { delta: 'float' },
  DOUBLE: { delta: 'double' },
  DATE: { delta: 'date' },
  BLOB: { delta: 'binary' },
  'TIMESTAMP WITH TIME ZONE': { delta: 'timestamp' },
  'VARCHAR[]': { delta: TEXTS },
  'JSON[]': { delta: TEXTS, written: 'varchar[]' },
};

/** How the lake holds a type of DuckDB: as text where Delta has no equal, as JSON among others. */
export function lakeType(type: string): { readonly delta: DeltaField['type']; readonly written?: string } {
  const decimal = /^DECIMAL\((\d+),\s*(\d+)\)$/u.exec(type);
  if (decimal) return { delta: `decimal(${decimal[1]},${decimal[2]})` };
  return TYPES[type] ?? { delta: 'string', written: 'varchar' };
}

/**
 * Adds the columns of the warehouse to the fields of a table. No field is ever removed or changed: a column whose type has changed gets
 * a field of its own, `NAME_2` and so on, and the old one keeps the old rows.
 */
export function evolveFields(
  existing: readonly DeltaField[],
  columns: readonly WarehouseColumn[],
): { readonly fields: readonly DeltaField[]; readonly columns: readonly MappedColumn[] } {
  const fields = [...existing];
  const mapped = columns.map(({ name, type, comment }): MappedColumn => {
    const { delta } = lakeType(type);
    const isSame = (field: DeltaField) => JSON.stringify(field.type) === JSON.stringify(delta);
    const held = fields.find((field) => field.metadata['tidemark.column'] === name && isSame(field));
    if (held) return { name, type, field: held.name };
    const field = freeName(name, fields);
    fields.push(createField(field, delta, comment, { 'tidemark.column': name, 'tidemark.type': type }));
    return { name, type, field };
  });
  return { fields, columns: mapped };
}

function createField(
  name: string,
  type: DeltaField['type'],
  comment: string,
  metadata: DeltaField['metadata'] = {},
): DeltaField {
  return { name, type, nullable: true, metadata: { ...(comment !== '' && { comment }), ...metadata } };
}

/** Names of fields must differ in more than case. */
function freeName(name: string, fields: readonly DeltaField[]): string {
  const taken = new Set([...RESERVED, ...fields.map((field) => field.name.toLowerCase())]);
  const base = RESERVED.has(name.toLowerCase()) || OWN.test(name) ? `${PREFIX}${name}` : name;
  for (let counter = 1; ; counter++) {
    const candidate = counter === 1 ? base : `${base}_${counter}`;
    if (!taken.has(candidate.toLowerCase())) return candidate;
  }
}
