import type { DuckDBType } from '@duckdb/node-api';
import { quoteIdent, quoteLiteral } from '../../warehouse/sql-files.ts';
import { DuckDBTypeId } from '../../warehouse/values.ts';

/** A column of a result, and the SQL that reads it. */
export interface ResultColumn {
  readonly name: string;
  readonly type: DuckDBType;
  /** An identifier that is unique within the result. */
  readonly sql: string;
}

/** SQL for the text of a value: times in ISO 8601, lists and structs as JSON; null stays null. */
export function textSql({ sql, type }: ResultColumn): string {
  return isNested(type) ? `to_json(${jsonValueSql(sql, type)})::varchar` : scalarTextSql(sql, type);
}

/** SQL for the JSON value of a column. JSON has no NaN and no infinity: they become null. */
export function jsonSql({ sql, type }: ResultColumn): string {
  return jsonValueSql(sql, type);
}

function scalarTextSql(sql: string, type: DuckDBType): string {
  return isTimestamp(type) ? isoTimeSql(sql) : `${sql}::varchar`;
}

function jsonValueSql(sql: string, type: DuckDBType): string {
  if (!needsConversion(type)) return sql;
  if (isTimestamp(type)) return isoTimeSql(sql);
  if (isFloat(type)) return `case when isfinite(${sql}) then ${sql} end`;
  if (type.typeId === DuckDBTypeId.LIST || type.typeId === DuckDBTypeId.ARRAY) {
    return `list_transform(${sql}, lambda item: ${jsonValueSql('item', type.valueType)})`;
  }
  if (type.typeId === DuckDBTypeId.STRUCT) return structSql(sql, type.entryNames, type.entryTypes);
  return sql;
}

function structSql(sql: string, names: readonly string[], types: readonly DuckDBType[]): string {
  const entries = names.map((name, index) => {
    const field = `struct_extract(${sql}, ${quoteLiteral(name)})`;
    return `${quoteIdent(name)} := ${jsonValueSql(field, types[index] as DuckDBType)}`;
  });
  return `case when ${sql} is not null then struct_pack(${entries.join(', ')}) end`;
}

/** Whether the type is, or contains, one that JSON would show otherwise. */
function needsConversion(type: DuckDBType): boolean {
  if (isTimestamp(type) || isFloat(type)) return true;
  if (type.typeId === DuckDBTypeId.LIST || type.typeId === DuckDBTypeId.ARRAY) return needsConversion(type.valueType);
  return type.typeId === DuckDBTypeId.STRUCT && type.entryNames.every(Boolean) && type.entryTypes.some(needsConversion);
}

function isTimestamp({ typeId }: DuckDBType): boolean {
  return typeId === DuckDBTypeId.TIMESTAMP || typeId === DuckDBTypeId.TIMESTAMP_TZ;
}

function isFloat({ typeId }: DuckDBType): boolean {
  return typeId === DuckDBTypeId.DOUBLE || typeId === DuckDBTypeId.FLOAT;
}

const NESTED: ReadonlySet<number> = new Set([
  DuckDBTypeId.LIST,
  DuckDBTypeId.ARRAY,
  DuckDBTypeId.STRUCT,
  DuckDBTypeId.MAP,
  DuckDBTypeId.UNION,
]);

function isNested({ typeId }: DuckDBType): boolean {
  return NESTED.has(typeId);
}

const NUMBERS: ReadonlySet<number> = new Set([
  DuckDBTypeId.TINYINT,
  DuckDBTypeId.SMALLINT,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.UTINYINT,
  DuckDBTypeId.USMALLINT,
  DuckDBTypeId.UINTEGER,
  DuckDBTypeId.UBIGINT,
  DuckDBTypeId.HUGEINT,
  DuckDBTypeId.UHUGEINT,
  DuckDBTypeId.FLOAT,
  DuckDBTypeId.DOUBLE,
  DuckDBTypeId.DECIMAL,
]);

export function isNumber({ typeId }: DuckDBType): boolean {
  return NUMBERS.has(typeId);
}

/** Whether the text of a value has only digits, letters and punctuation that every format writes as it is. */
export function isPlain(type: DuckDBType): boolean {
  return (
    isNumber(type) || isTimestamp(type) || type.typeId === DuckDBTypeId.BOOLEAN || type.typeId === DuckDBTypeId.DATE
  );
}

/**
 * `2026-11-20T02:15:00Z`, with a fraction if there is one; `infinity` stays. The session's time zone is UTC, so that the text of a
 * time without zone is the same, in half of the time. It differs before the year 1 only.
 */
function isoTimeSql(sql: string): string {
  const whole = `strftime(${sql}, '%Y-%m-%dT%H:%M:%SZ')`;
  const fraction = `rtrim(strftime(${sql}, '%Y-%m-%dT%H:%M:%S.%f'), '0') || 'Z'`;
  const early = `case when epoch_us(${sql}) % 1000000 = 0 then ${whole} else ${fraction} end`;
  const usual = `replace(make_timestamp(epoch_us(${sql}))::varchar, ' ', 'T') || 'Z'`;
  return `case when ${sql} >= '0001-01-01' and ${sql} < 'infinity' then ${usual} when isfinite(${sql}) then ${early} else ${sql}::varchar end`;
}
