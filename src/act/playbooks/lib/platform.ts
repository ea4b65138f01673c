import { canonicalJson } from '../../../core/canonical-json.ts';
import { isObject, listAt, textAt, valueAt } from '../../../core/json-path.ts';
import { plural } from '../../../core/plural.ts';
import { canonicalField, canonicalOperator, mapSorted } from '../../../services/platform/explorer.ts';
import { NO_POOL_USE } from '../../../services/platform/operations.ts';
import { drifted, type JsonValue, unknown } from '../../define.ts';
import { readSubject } from './reads.ts';

export const readPool = readSubject('platform.agent-pools.show', { id: 'pool_id' }, 'agent_pools.pool_id');

export const readView = readSubject('platform.views.show', { view_id: 'view_id' }, 'saved_views.view_id');

const NO_USE = new RegExp(`^(?:${NO_POOL_USE})$`, 'u');

/**
 * What uses an agent pool beside its agents: the IDs of the attached workspaces, and other relationships with the number of resources.
 * Each is null where the service does not report it.
 */
export function parsePoolUsers(pool: unknown) {
  const relationships = valueAt(pool, 'data', 'relationships');
  const others = Object.keys(isObject(relationships) ? relationships : {})
    .filter((name) => !NO_USE.test(name))
    .map((name) => [name, countMembers(valueAt(relationships, name, 'data'))] as const)
    .filter(([, members]) => members !== 0);
  return { workspaces: relatedIds(pool, 'workspaces'), others: Object.fromEntries(others) };
}

/** The IDs that a relationship lists; null where the service does not report them. */
export function relatedIds(pool: unknown, relation: string): readonly string[] | null {
  return listAt(pool, 'data', 'relationships', relation, 'data')?.map((item) => String(valueAt(item, 'id'))) ?? null;
}

/** Why a pool has users beside its workspaces, or may have some; undefined where it has none. */
export function explainOtherUsers({ others }: Pick<ReturnType<typeof parsePoolUsers>, 'others'>) {
  const all = Object.entries(others);
  const [first] = [...all.filter(([, members]) => members !== null), ...all];
  if (first === undefined) return undefined;
  const [name, members] = first;
  if (members === null) return unknown(`its ${name} are not reported`);
  return drifted(`its relationship ${name} names ${plural(members, 'resource')}`);
}

/** A relationship names a list of resources, one, or none (null). */
function countMembers(data: unknown): number | null {
  if (Array.isArray(data)) return data.length;
  if (data === null) return 0;
  return isObject(data) ? 1 : null;
}

/** The query of a saved view in one normal form, so that two can be compared: docs/services/platform.md#saved-views lists the forms. */
export type SavedQuery = Readonly<ReturnType<typeof parseSavedQuery>>;

export function parseSavedQuery(view: unknown) {
  const query = valueAt(view, 'attributes', 'query');
  const type = textAt(view, 'attributes', 'query-type') ?? textAt(query, 'type');
  return {
    type,
    filter: (listAt(query, 'filter') ?? []).flatMap(parseFilters),
    fields: toFieldNames(listAt(query, 'fields') ?? listAt(query, 'fields', type ?? '')),
    sort: toFieldNames(listAt(query, 'sort')),
  };
}

const KNOWN_PARTS = ['type', 'filter', 'fields', 'sort'];

/** The parts of a saved view's query that have no place in its normal form, if there are some. An update without them removes them. */
export function otherQueryParts(view: unknown): { readonly others?: Readonly<Record<string, JsonValue>> } {
  const query = valueAt(view, 'attributes', 'query');
  const others = Object.entries(isObject(query) ? query : {}).filter(([name]) => !KNOWN_PARTS.includes(name));
  return others.length > 0 ? { others: Object.fromEntries(others) as Record<string, JsonValue> } : {};
}

export function isSameQuery(a: JsonValue, b: JsonValue): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

/** Accepts `{field, operator, value}` and the real product's `{"field-name": {"operator": value}}`. */
function parseFilters(item: unknown) {
  const toFilter = (field: string, operator: string, value: unknown) => {
    return {
      field: canonicalField(field),
      operator: canonicalOperator(operator),
      value: [value ?? []].flat().map(String),
    };
  };
  const field = textAt(item, 'field');
  if (field !== null) return [toFilter(field, textAt(item, 'operator') ?? '', valueAt(item, 'value'))];
  return Object.entries(item ?? {}).flatMap(([name, operators]) =>
    Object.entries(operators ?? {}).map(([operator, value]) => toFilter(name, operator, value)),
  );
}

function toFieldNames(list: readonly unknown[] = []): readonly string[] {
  return list.map((item) => mapSorted(String(item), canonicalField));
}
