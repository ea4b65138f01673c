import { at, listAt, textAt } from './answers.ts';
import type { Json } from './step.ts';

/** What a saved view asks, whichever of its forms the service tells (live-services.md A5), so that two can be compared. */
export interface SavedQuery {
  readonly type: string | null;
  readonly filter: readonly { readonly field: string; readonly operator: string; readonly value: Json }[];
  readonly fields: readonly string[];
  readonly sort: readonly string[];
}

/** The query of a saved view's JSON:API resource. */
export function savedQueryOf(view: unknown): SavedQuery {
  const query = at(view, 'attributes', 'query');
  const type = textAt(view, 'attributes', 'query-type') ?? textAt(query, 'type');
  return {
    type,
    filter: (listAt(query, 'filter') ?? []).flatMap(filtersOf),
    fields: texts(listAt(query, 'fields') ?? listAt(query, 'fields', type ?? '')),
    sort: texts(listAt(query, 'sort')),
  };
}

export function sameQuery(a: SavedQuery, b: SavedQuery): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Flat `{field, operator, value}`, or the live form `{"field-name": {"operator": value}}`. */
function filtersOf(item: unknown): SavedQuery['filter'] {
  const field = textAt(item, 'field');
  if (field !== null) {
    return [{ field: snake(field), operator: textAt(item, 'operator') ?? '', value: value(at(item, 'value')) }];
  }
  return Object.entries((item ?? {}) as Record<string, unknown>).flatMap(([name, operators]) =>
    Object.entries((operators ?? {}) as Record<string, unknown>).map(([operator, given]) => ({
      field: snake(name),
      operator: operator.replaceAll('_', ' '),
      value: value(given),
    })),
  );
}

function value(given: unknown): Json {
  return (Array.isArray(given) ? given : [given]).map(String);
}

function texts(list: readonly unknown[] | undefined): readonly string[] {
  return (list ?? []).map((item) => snake(String(item)));
}

/** Names of fields have hyphens in some answers; a sort's leading `-` is none. */
function snake(name: string): string {
  return name.slice(0, 1) + name.slice(1).replaceAll('-', '_');
}
