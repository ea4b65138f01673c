import type { DeltaField } from './delta-log.ts';

/** A column of a relation as the warehouse has it. */
export interface WarehouseColumn {
  readonly name: string;
  /** DuckDB's name of the type. */
  readonly type: string;
  readonly comment: string;
}

/** A column of the warehouse and the field of the lake that holds it. */
export interface MappedColumn {
  readonly name: string;
  readonly type: string;
  readonly field: string;
}

/** Fields of every table of the lake, and columns that its folders divide. A column of the warehouse with such a name gets a prefix. */
const RESERVED = new Set(['op', 'as_of', 'publish', 'occurrence', 'month', 'quarter', 'valid_from', 'valid_to']);
const PREFIX = 'row_';
/** Queries over the lake use such names for their own columns. */
const OWN = /^lake_/iu;

interface LakeType {
  readonly delta: DeltaField['type'];
  /** The type that DuckDB writes. */
  readonly written: string;
}

const TEXTS: LakeType = { delta: { type: 'array', elementType: 'string', containsNull: true }, written: 'varchar[]' };

const SIMPLE: Readonly<Record<string, LakeType>> = {
  VARCHAR: { delta: 'string', written: 'varchar' },
  BOOLEAN: { delta: 'boolean', written: 'boolean' },
  TINYINT: { delta: 'byte', written: 'tinyint' },
  SMALLINT: { delta: 'short', written: 'smallint' },
  INTEGER: { delta: 'integer', written: 'integer' },
  BIGINT: { delta: 'long', written: 'bigint' },
  UBIGINT: { delta: 'decimal(20,0)', written: 'decimal(20,0)' },
  FLOAT: { delta: 'float', written: 'float' },
  DOUBLE: { delta: 'double', written: 'double' },
  DATE: { delta: 'date', written: 'date' },
  BLOB: { delta: 'binary', written: 'blob' },
  'TIMESTAMP WITH TIME ZONE': { delta: 'timestamp', written: 'timestamptz' },
  'VARCHAR[]': TEXTS,
  'JSON[]': TEXTS,
};

/** How the lake holds a type of DuckDB: as text where Delta has no equal, as JSON among others. */
export function lakeType(type: string): LakeType {
  const decimal = /^DECIMAL\((\d+),\s*(\d+)\)$/u.exec(type);
  if (decimal) return { delta: `decimal(${decimal[1]},${decimal[2]})`, written: type };
  return SIMPLE[type] ?? { delta: 'string', written: 'varchar' };
}

export interface Evolution {
  readonly fields: readonly DeltaField[];
  readonly columns: readonly MappedColumn[];
}

/**
 * Adds the columns of the warehouse to the fields of a table. No field is ever removed or changed: a column whose type has changed gets
 * a field of its own, `NAME_2` and so on, and the old one keeps the old rows.
 */
export function evolveFields(existing: readonly DeltaField[], columns: readonly WarehouseColumn[]): Evolution {
  const fields = [...existing];
  const mapped = columns.map((column): MappedColumn => {
    const { name, type } = column;
    const { delta } = lakeType(type);
    const held = fields.find((field) => field.metadata['tidemark.column'] === name && sameType(field.type, delta));
    if (held) return { name, type, field: held.name };
    const field = freeName(name, fields);
    fields.push(createField(field, delta, describeColumn(column)));
    return { name, type, field };
  });
  return { fields, columns: mapped };
}

export function createField(
  name: string,
  type: DeltaField['type'],
  metadata: Readonly<Record<string, string>>,
): DeltaField {
  return { name, type, nullable: true, metadata };
}

function describeColumn({ name, type, comment }: WarehouseColumn): Readonly<Record<string, string>> {
  return { ...(comment !== '' && { comment }), 'tidemark.column': name, 'tidemark.type': type };
}

function sameType(a: DeltaField['type'], b: DeltaField['type']): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
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
