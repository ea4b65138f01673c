import type { JsonValue } from '../../remediation/define.ts';
import { listAt, textAt, valueAt } from './json-path.ts';

/** The query of a saved view in one normal form, so that two can be compared: docs/services/platform.md#saved-views lists the forms. */
export interface NormalizedQuery {
  readonly type: string | null;
  readonly filter: readonly { readonly field: string; readonly operator: string; readonly value: JsonValue }[];
  readonly fields: readonly string[];
  readonly sort: readonly string[];
}

/** Parses the query of a saved view's JSON:API resource. */
export function parseSavedQuery(view: unknown): NormalizedQuery {
  const query = valueAt(view, 'attributes', 'query');
  const type = textAt(view, 'attributes', 'query-type') ?? textAt(query, 'type');
  return {
    type,
    filter: (listAt(query, 'filter') ?? []).flatMap(parseFilters),
    fields: toFieldNames(listAt(query, 'fields') ?? listAt(query, 'fields', type ?? '')),
    sort: toFieldNames(listAt(query, 'sort')),
  };
}

export function isSameQuery(a: NormalizedQuery, b: NormalizedQuery): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Accepts `{field, operator, value}` and the real product's `{"field-name": {"operator": value}}`. */
function parseFilters(item: unknown): NormalizedQuery['filter'] {
  const field = textAt(item, 'field');
  if (field !== null) {
    const operator = textAt(item, 'operator') ?? '';
    return [{ field: toSnakeCase(field), operator, value: toStrings(valueAt(item, 'value')) }];
  }
  return Object.entries((item ?? {}) as Record<string, unknown>).flatMap(([name, operators]) =>
    Object.entries((operators ?? {}) as Record<string, unknown>).map(([operator, value]) => ({
      field: toSnakeCase(name),
      operator: operator.replaceAll('_', ' '),
      value: toStrings(value),
    })),
  );
}

function toStrings(value: unknown): JsonValue {
  return (Array.isArray(value) ? value : [value]).map(String);
}

function toFieldNames(list: readonly unknown[] | undefined): readonly string[] {
  return (list ?? []).map((item) => toSnakeCase(String(item)));
}

/** Keeps the leading `-` of a descending sort. */
function toSnakeCase(name: string): string {
  return name.slice(0, 1) + name.slice(1).replaceAll('-', '_');
}
