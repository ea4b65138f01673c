import type { DuckDBType } from '@duckdb/node-api';
import { quoteLiteral } from '../../warehouse/sql-files.ts';
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
  if (isNested(type)) return `to_json(${jsonSql({ sql, type })})::varchar`;
  return isTimestamp(type) ? isoTimeSql({ sql, type }) : `${sql}::varchar`;
}

/** SQL for the JSON value of a column, the value itself where it has the same. JSON has no NaN and no infinity: they become null. */
export function jsonSql({ sql, type }: Omit<ResultColumn, 'name'>): string {
  if (isTimestamp(type)) return isoTimeSql({ sql, type });
  if (type.typeId === DuckDBTypeId.DOUBLE || type.typeId === DuckDBTypeId.FLOAT) {
    return `case when isfinite(${sql}) then ${sql} end`;
  }
  if (type.typeId === DuckDBTypeId.LIST || type.typeId === DuckDBTypeId.ARRAY) {
    const item = jsonSql({ sql: 'item', type: type.valueType });
    return item === 'item' ? sql : `list_transform(${sql}, lambda item: ${item})`;
  }
  if (type.typeId === DuckDBTypeId.MAP) {
    const value = jsonSql({ sql: 'entry.value', type: type.valueType });
    const entries = `list_transform(map_entries(${sql}), lambda entry: {'key': entry.key, 'value': ${value}})`;
    return value === 'entry.value' ? sql : `map_from_entries(${entries})`;
  }
  if (type.typeId === DuckDBTypeId.UNION) {
    const members = type.memberTags.map((tag, index) => {
      const value = jsonSql({
        sql: `union_extract(${sql}, ${quoteLiteral(tag)})`,
        type: type.memberTypes[index] as DuckDBType,
      });
      return `when ${quoteLiteral(tag)} then json_object(${quoteLiteral(tag)}, ${value})`;
    });
    return `case union_tag(${sql})::varchar ${members.join(' ')} end`;
  }
  if (type.typeId !== DuckDBTypeId.STRUCT) return sql;
  const values = type.entryTypes.map((entry, index) =>
    jsonSql({ sql: `struct_extract_at(${sql}, ${index + 1})`, type: entry }),
  );
  // Without names, as row(1, 2) has none, it is a list.
  const isNamed = type.entryNames.every(Boolean);
  const entries = values.map((value, index) =>
    isNamed ? `${quoteLiteral(type.entryNames[index] ?? '')}, ${value}` : value,
  );
  return `case when ${sql} is not null then ${isNamed ? 'json_object' : 'json_array'}(${entries.join(', ')}) end`;
}

function isTimestamp({ typeId }: DuckDBType): boolean {
  return /^TIMESTAMP/u.test(DuckDBTypeId[typeId]);
}

/** A type whose values have others within; a list ends with a bracket. */
export function isNested(type: DuckDBType | string): boolean {
  return /\]$|^(?:STRUCT|MAP|UNION)\(/u.test(String(type));
}

export function isNumber(type: DuckDBType): boolean {
  return /^(?:U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\))$/u.test(String(type));
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
function isoTimeSql({ sql, type }: Omit<ResultColumn, 'name'>): string {
  if (type.typeId === DuckDBTypeId.TIMESTAMP_NS) {
    return `case when isfinite(${sql}) then replace(${sql}::varchar, ' ', 'T') || 'Z' else ${sql}::varchar end`;
  }
  const whole = `strftime(${sql}::timestamp, '%Y-%m-%dT%H:%M:%SZ')`;
  const fraction = `rtrim(strftime(${sql}::timestamp, '%Y-%m-%dT%H:%M:%S.%f'), '0') || 'Z'`;
  const early = `case when epoch_us(${sql}) % 1000000 = 0 then ${whole} else ${fraction} end`;
  const usual = `replace(make_timestamp(epoch_us(${sql}))::varchar, ' ', 'T') || 'Z'`;
  return `case when ${sql} >= '0001-01-01' and ${sql} < 'infinity' then ${usual} when isfinite(${sql}) then ${early} else ${sql}::varchar end`;
}
