import type { Flavor } from '../types.ts';
import { isObject, type Json, Refusal } from './json-api.ts';
import type { SavedQuery, SavedView, ViewFilter } from './state.ts';

/** A saved view as a request wants it. */
export interface ViewWish {
  readonly name: string;
  readonly queryType: string | undefined;
  readonly query: SavedQuery;
}

const refuse = (detail: string, pointer: string): Refusal => new Refusal(422, detail, { pointer });

const hyphened = (name: string): string => name.replaceAll('_', '-');
const underscored = (name: string): string => name.replaceAll('-', '_');

/** The query in the documents' flat form, or in the maps that clients of the real service send (live-services.md A5). */
function queryDocument({ queryType, query }: SavedView, flavor: Flavor): Json {
  const sort = query.sort ? { sort: query.sort } : {};
  if (flavor === 'documents') {
    return { type: queryType, filter: query.filter, ...(query.fields ? { fields: query.fields } : {}), ...sort };
  }
  const filter = query.filter.map(({ field, operator, value }) => ({ [hyphened(field)]: { [operator]: value } }));
  return { type: queryType, filter, ...(query.fields ? { fields: { [queryType]: query.fields } } : {}), ...sort };
}

export const viewDocument = (view: SavedView, flavor: Flavor): Json => ({
  id: view.id,
  type: 'explorer-saved-queries',
  attributes: {
    name: view.name,
    'created-at': new Date(view.createdAt).toISOString(),
    query: queryDocument(view, flavor),
    'query-type': view.queryType,
  },
});

function texts(value: unknown, pointer: string): string[] {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw refuse('must be a list of strings', pointer);
}

function flatFilter(item: unknown, pointer: string): ViewFilter {
  if (!isObject(item) || typeof item.field !== 'string' || typeof item.operator !== 'string') {
    throw refuse('a filter has field, operator and value', pointer);
  }
  return { field: item.field, operator: item.operator, value: texts(item.value, `${pointer}/value`) };
}

/** `{"workspace_name": {"contains": ["child"]}}`. */
function mapFilters(item: unknown, pointer: string): ViewFilter[] {
  if (!isObject(item)) throw refuse('must be an object', pointer);
  return Object.entries(item).flatMap(([field, operators]) => {
    if (!isObject(operators)) throw refuse('must be an object', `${pointer}/${field}`);
    return Object.entries(operators).map(([operator, value]) => ({
      field: underscored(field),
      operator,
      value: texts(value, `${pointer}/${field}/${operator}`),
    }));
  });
}

function filtersIn(value: unknown, pointer: string, flavor: Flavor): ViewFilter[] {
  if (!Array.isArray(value)) throw refuse('must be a list', pointer);
  return value.flatMap((item, index) => {
    const flat = flavor === 'documents' || (isObject(item) && typeof item.field === 'string');
    return flat ? [flatFilter(item, `${pointer}/${index}`)] : mapFilters(item, `${pointer}/${index}`);
  });
}

function fieldsIn(value: unknown, pointer: string): string[] {
  return isObject(value) ? Object.values(value).flatMap((names) => texts(names, pointer)) : texts(value, pointer);
}

/** `complete` demands filter, fields and sort, as the documents do of an update. */
function queryIn(value: unknown, pointer: string, complete: boolean, flavor: Flavor): SavedQuery {
  if (!isObject(value)) throw refuse('must be an object', pointer);
  const { filter, fields, sort } = value;
  for (const [name, part] of Object.entries({ filter, fields, sort })) {
    if (complete && part === undefined) throw refuse('is required', `${pointer}/${name}`);
  }
  return {
    filter: filter === undefined ? [] : filtersIn(filter, `${pointer}/filter`, flavor),
    ...(fields === undefined ? {} : { fields: fieldsIn(fields, `${pointer}/fields`) }),
    ...(sort === undefined ? {} : { sort: texts(sort, `${pointer}/sort`) }),
  };
}

/** Reads the body of create or update: flat by the documents, JSON:API with `flavor: hashicorp`. */
export function viewWish(data: Json, occasion: 'create' | 'update', flavor: Flavor): ViewWish {
  const live = flavor === 'hashicorp';
  if (live && data.type !== 'explorer-saved-queries') throw refuse('type must be explorer-saved-queries', '/data/type');
  const parts = live ? data.attributes : data;
  const pointer = live ? '/data/attributes' : '/data';
  if (!isObject(parts)) throw refuse('must be an object', pointer);
  const { name, query } = parts;
  if (typeof name !== 'string' || name === '') throw refuse("name can't be blank", `${pointer}/name`);
  const type = parts[live ? 'query-type' : 'query_type'];
  return {
    name,
    queryType: typeof type === 'string' ? type : undefined,
    query: queryIn(query, `${pointer}/query`, occasion === 'update' && !live, flavor),
  };
}
