import { z } from 'zod';
import { canonicalJson } from '../../../core/canonical-json.ts';
import { isObject, isScalar, listAt, textAt, toFields, valueAt } from '../../../core/json-path.ts';
import { plural } from '../../../core/plural.ts';
import { canonicalField, canonicalOperator, mapSorted } from '../../../services/platform/explorer.ts';
import { NO_POOL_USE } from '../../../services/platform/operations.ts';
import { drifted, type JsonValue, unknown } from '../../define.ts';
import { readSubject } from './reads.ts';

export const readPool = readSubject('platform.agent-pools.show', { id: 'pool_id' }, 'agent_pools.pool_id');

export const readView = readSubject('platform.views.show', { view_id: 'view_id' }, 'saved_views.view_id');

/** For a deletion: the name that the approver saw; null in a plan of an earlier version. A renamed subject may have another use now. */
export const plannedName = z.string().nullable().default(null);

/** Why a subject has not certainly its planned name; undefined where it has, or where the plan has none. */
export function explainOtherName(planned: string | null, observed: string | null) {
  if (planned === null || observed === planned) return undefined;
  return observed === null ? unknown('its name is not reported') : drifted(`its name is ${observed} now`);
}

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
  const { type, filter = [], fields = [], sort = [] } = readQuery(view);
  return { type, filter, fields, sort };
}

const PARTS = ['filter', 'fields', 'sort'] as const;

/**
 * What has no place in the normal form of a saved view's query, if there is something: parts that are not known, which an update without
 * them removes, and known ones in another form.
 */
export function otherQueryParts(view: unknown): { readonly others?: Readonly<Record<string, JsonValue>> } {
  const query = valueAt(view, 'attributes', 'query');
  const normal = new Map<string, unknown>(Object.entries(readQuery(view)));
  const isOther = (name: string) => name !== 'type' && normal.get(name) === undefined;
  const others = Object.entries(isObject(query) ? query : {}).filter(([name]) => isOther(name));
  return others.length > 0 ? { others: Object.fromEntries(others) as Record<string, JsonValue> } : {};
}

/** The part among `otherQueryParts` that is known in other forms: an undo could not write it again. */
export function findOtherForm(others: Readonly<Record<string, JsonValue>>): string | undefined {
  return PARTS.find((name) => Object.hasOwn(others, name));
}

/** The parts of a query, each undefined where its form is not known. */
function readQuery(view: unknown) {
  const query = valueAt(view, 'attributes', 'query');
  const type = textAt(view, 'attributes', 'query-type') ?? textAt(query, 'type');
  const fields = valueAt(query, 'fields');
  const isOfView = isObject(fields) && Object.keys(fields).every((name) => name === type);
  return {
    type,
    filter: readEach(valueAt(query, 'filter'), parseFilters),
    fields: readEach(isOfView ? fields[type ?? ''] : fields, parseName),
    sort: readEach(valueAt(query, 'sort'), parseName),
  };
}

/** @returns undefined for what is no list, or has an item that cannot be read */
function readEach<T>(list: unknown, read: (item: unknown) => readonly T[] | undefined): readonly T[] | undefined {
  const items = list ?? [];
  const parsed = Array.isArray(items) ? items.map(read) : [undefined];
  return parsed.every((item) => item !== undefined) ? parsed.flat() : undefined;
}

export function isSameQuery(a: JsonValue, b: JsonValue): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

/** Accepts `{field, operator, value}` and the real product's `{"field-name": {"operator": value}}`. */
function parseFilters(item: unknown) {
  const { field, operator, value, ...others } = toFields(item);
  const isFlat = typeof field === 'string' && Object.keys(others).length === 0;
  const conditions = Object.entries(toFields(item)).flatMap(([name, operators]) =>
    isObject(operators) ? Object.entries(operators).map((each) => [name, ...each]) : [[name]],
  );
  return isObject(item) ? readEach(isFlat ? [[field, operator, value]] : conditions, parseCondition) : undefined;
}

function parseCondition(condition: unknown) {
  const [field, operator, value] = condition as readonly [string, unknown, unknown];
  const values = [value ?? []].flat();
  if (typeof operator !== 'string' || !values.every(isScalar)) return undefined;
  return [{ field: canonicalField(field), operator: canonicalOperator(operator), value: values.map(String) }];
}

function parseName(name: unknown): readonly string[] | undefined {
  return typeof name === 'string' ? [mapSorted(name, canonicalField)] : undefined;
}
