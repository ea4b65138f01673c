import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { tryParseJson } from '../core/json.ts';
import { quoteIdent } from '../warehouse/sql-files.ts';
import type { Column } from '../warehouse/tables.ts';
import { type AddAction, type DeltaField, type MetaData, parseFields, toSchemaString } from './delta-log.ts';
import { KINDS, type Relation, RUNS } from './relations.ts';

/** A column of the warehouse and the field of the lake that holds it. */
const mappedColumn = z.object({ name: z.string(), type: z.string(), field: z.string() });
type MappedColumn = Readonly<z.infer<typeof mappedColumn>>;

/** A relation as the lake describes it: what a reader without the warehouse needs to know. */
const lakeRelation = z.object({
  name: z.string(),
  kind: z.enum(KINDS),
  /** Fields that identify a row. */
  identity: z.array(z.string()),
  columns: z.array(mappedColumn),
  list: z.object({ column: z.string(), relation: z.string() }).optional(),
});
export type LakeRelation = Readonly<z.infer<typeof lakeRelation>>;

/** A relation with what the description of its table says for people; the comments are by field. */
export type DescribedRelation = Readonly<NonNullable<ReturnType<typeof parseRelation>>>;

/** Property of a table with its `LakeRelation` as JSON. */
const RELATION_PROPERTY = 'tidemark.relation';
/** Property with the number of the publish that last changed the description. */
const SINCE_PROPERTY = 'tidemark.since';

/** What a file system keeps beside the tables, such as `lost+found`, has other names; not everybody may look into it. */
export const isTableName = (name: string): boolean => /^\w+$/u.test(name);

export const changesTable = (relation: string): string => `${relation}_changes`;

/** Its last commit makes a publish visible. */
export const RUNS_TABLE = changesTable(RUNS);

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
/** What makes a publish visible. */
export const RUN_FIELDS = [PUBLISH, AS_OF, createField('run_id', 'string')];
export const PULL_FIELDS = [PUBLISH, AS_OF, createField('target', 'string'), createField('status', 'string')];

export const hasOccurrence = ({ kind }: Pick<Relation, 'kind'>): boolean => kind === 'register' || kind === 'journal';

/** Whether a row replaces earlier ones of the same identity. */
export const replacesRows = ({ kind }: LakeRelation): boolean => kind === 'history' || kind === 'register';

/** The description of a table of an earlier version as it is without folders. */
export function withoutFolders(metaData: MetaData): MetaData {
  const fields = parseFields(metaData).filter(({ name }) => name !== FOLDER_COLUMN);
  return { ...metaData, schemaString: toSchemaString(fields), partitionColumns: [] };
}

/** What a table must be for a relation, and whether it differs from what it is. */
export type TableDesign = ReturnType<typeof designTable>;

/**
 * The design of a table for a relation of the warehouse, from the one that it has.
 * @param publish recorded as the publish that changed the table
 * @returns with the metadata to commit; undefined if the table has it already
 */
export function designTable(source: Relation, existing: MetaData | undefined, publish: number, nowMs: number) {
  const leading = [OP, AS_OF, PUBLISH, ...(hasOccurrence(source) ? [OCCURRENCE] : [])];
  const { fields, columns } = evolveFields(existing ? parseFields(existing) : leading, source.columns);
  const relation = describeRelation(source, columns);
  const property = JSON.stringify(relation);
  if (existing?.configuration[RELATION_PROPERTY] === property) return { relation, fields, metaData: undefined };
  const base = existing ?? newMetaData(changesTable(source.name), source.grain, nowMs);
  const configuration = { ...base.configuration, [RELATION_PROPERTY]: property, [SINCE_PROPERTY]: String(publish) };
  return { relation, fields, metaData: { ...base, schemaString: toSchemaString(fields), configuration } };
}

/** Without these, engines delete log files after a month, and Spark refuses times before the last week. */
const KEEP = 'interval 3650 days';

/** The description of a new table, whose fields and properties are set with it. */
export function newMetaData(name: string, description: string, nowMs: number): MetaData {
  return {
    id: randomUUID(),
    name,
    description,
    format: { provider: 'parquet', options: {} },
    schemaString: '',
    partitionColumns: [],
    createdTime: nowMs,
    configuration: {
      'delta.appendOnly': 'true',
      'delta.logRetentionDuration': KEEP,
      'delta.deletedFileRetentionDuration': KEEP,
    },
  };
}

function describeRelation({ name, kind, key, list }: Relation, columns: MappedColumn[]): LakeRelation {
  const identity = key.map((column) => columns.find((one) => one.name === column)?.field ?? column);
  if (hasOccurrence({ kind })) identity.push(OCCURRENCE.name);
  return { name, kind, identity, columns, ...(list && { list }) };
}

/** The relation that a table of the lake holds; undefined for a table of another program, or of a description that no publish writes. */
export function parseRelation(table: string, metaData: MetaData | undefined) {
  const { data } = lakeRelation.safeParse(tryParseJson(metaData?.configuration[RELATION_PROPERTY] ?? ''));
  const fields = parseFields(metaData);
  const isSound = fields.every(({ type }) => toDuckdbType(type) !== undefined);
  if (!data || !isSound || table !== changesTable(data.name) || !isTableName(table)) return undefined;
  const comments = new Map(fields.map(({ name, metadata }) => [name, String(metadata.comment ?? '')]));
  return { ...data, grain: metaData?.description ?? '', comments };
}

/** Whether a table has a description that no publish writes. */
export function isMisdescribed(table: string, metaData: MetaData | undefined): boolean {
  const isOurs = table.endsWith(changesTable('')) && metaData?.configuration[RELATION_PROPERTY] !== undefined;
  return isOurs && !parseRelation(table, metaData);
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

/** SQL: lists of the fields of a relation, as its queries name them. */
export function relationParts(relation: LakeRelation, quote = quoteIdent) {
  const list = (names: readonly string[]) => names.map(quote).join(', ');
  return { identity: list(relation.identity), fields: list(rowFields(relation)) };
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

const DECIMAL = /^decimal\(\d+, ?\d+\)$/iu;

/** The type of DuckDB for a field of the lake; undefined for a type that none has. */
export function toDuckdbType(type: DeltaField['type']): string | undefined {
  if (typeof type === 'string' && DECIMAL.test(type)) return type;
  const found = Object.entries(TYPES).find(([, { delta, written }]) => !written && isDeepStrictEqual(delta, type));
  return found?.[0];
}

/** How the lake holds a type of DuckDB: as text where Delta has no equal, as JSON among others. */
export function lakeType(type: string): { readonly delta: DeltaField['type']; readonly written?: string } {
  if (DECIMAL.test(type)) return { delta: type.toLowerCase().replace(' ', '') };
  return TYPES[type] ?? { delta: 'string', written: 'varchar' };
}

/**
 * Adds the columns of the warehouse to the fields of a table. No field is ever removed or changed: a column whose type has changed gets
 * a field of its own, `NAME_2` and so on, and the old one keeps the old rows.
 */
export function evolveFields(existing: readonly DeltaField[], columns: readonly Column[]) {
  const fields = [...existing];
  const mapped = columns.map(({ name, type, comment }): MappedColumn => {
    const { delta } = lakeType(type);
    const held = fields.find((one) => one.metadata['tidemark.column'] === name && isDeepStrictEqual(one.type, delta));
    if (held) return { name, type, field: held.name };
    const field = freeName(name, fields);
    fields.push(createField(field, delta, comment, { 'tidemark.column': name, 'tidemark.type': type }));
    return { name, type, field };
  });
  return { fields, columns: mapped };
}

export function createField(name: string, type: DeltaField['type'], comment = '', metadata = {}): DeltaField {
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
