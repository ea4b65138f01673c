import type { Ask, Flavor } from '../types.ts';
import type { Field, Row, Value, View, Views } from './fields.ts';
import { filterTest, type Test } from './filters.ts';
import { Refusal } from './json-api.ts';
import type { SavedView } from './state.ts';

export interface QueryFilter {
  readonly field: string;
  readonly operator: string;
  /** One that any of these values satisfies is kept; the URL form has exactly one. */
  readonly values: readonly string[];
  /** What an error names. */
  readonly parameter: string;
}

export interface Query {
  readonly type: string;
  readonly filters: readonly QueryFilter[];
  /** Field names, `-` before one for descending. */
  readonly sort: readonly string[];
  /** Undefined: all. */
  readonly fields: readonly string[] | undefined;
}

export interface Result {
  readonly view: View<Row>;
  readonly columns: readonly Field<Row>[];
  readonly rows: readonly Row[];
}

const FILTER = /^filter\[([^\]]*)\]\[([^\]]*)\]\[([^\]]*)\]\[([^\]]*)\]$/;

/**
 * The filter parameters of a URL. Indexes begin with 0 and leave no gap; the documents' own sample repeats one with
 * another field, so that alone is let pass (platform.md, rules 1-5 and the sample below them).
 */
function filtersOf(query: URLSearchParams): QueryFilter[] {
  const seen = new Set<string>();
  const indexes = new Set<number>();
  const filters: QueryFilter[] = [];
  for (const [parameter, value] of query) {
    if (!parameter.startsWith('filter')) continue;
    const [, index = '', field = '', operator = '', last] = FILTER.exec(parameter) ?? [];
    const refuse = (detail: string): Refusal => new Refusal(400, detail, { parameter });
    if (!/^\d+$/.test(index)) throw refuse('a filter is filter[INDEX][FIELD][OPERATOR][0]');
    if (last !== '0') throw refuse('the last bracket of a filter must be 0');
    if (seen.has(`${index}/${field}`)) throw refuse(`filter index ${index} is used twice`);
    seen.add(`${index}/${field}`);
    indexes.add(Number(index));
    filters.push({ field, operator, values: [value], parameter });
  }
  const gap = [...indexes].sort((a, b) => a - b).findIndex((index, place) => index !== place);
  if (gap >= 0) throw new Refusal(400, `filter index ${gap} is missing`, { parameter: 'filter' });
  return filters;
}

/** Reads the query of `GET …/explorer` and of its CSV export. HCP Terraform also takes `fields[VIEW]=…`. */
export function queryOf({ query }: Ask, flavor: Flavor): Query {
  const type = query.get('type') ?? '';
  const fields = query.get('fields') ?? (flavor === 'hashicorp' ? query.get(`fields[${type}]`) : null);
  const sort = query.get('sort');
  return {
    type,
    filters: filtersOf(query),
    sort: sort ? [sort] : [],
    fields: fields ? fields.split(',') : undefined,
  };
}

export const savedQueryOf = ({ queryType, query }: SavedView): Query => ({
  type: queryType,
  filters: query.filter.map(({ field, operator, value }, index) => ({
    field,
    operator,
    values: value,
    parameter: `filter[${index}]`,
  })),
  sort: query.sort ?? [],
  fields: query.fields && query.fields.length > 0 ? query.fields : undefined,
});

function fieldNamed(view: View<Row>, name: string, parameter: string): Field<Row> {
  const field = view.fields.find((candidate) => candidate.name === name);
  if (field) return field;
  throw new Refusal(422, `unknown field "${name}"`, { parameter });
}

function rowTest(view: View<Row>, { field, operator, values, parameter }: QueryFilter, flavor: Flavor) {
  const column = fieldNamed(view, field, parameter);
  const wanted = values.length > 0 ? values : [''];
  const tests: Test[] = wanted.map((value) => filterTest(column.type, operator, value, flavor, parameter));
  return (row: Row): boolean => tests.some((test) => test(column.of(row)));
}

/** Missing values come last, as in PostgreSQL; text is compared by code unit. */
function compareValues(a: Value, b: Value): number {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  return a < b ? -1 : 1;
}

function comparison(view: View<Row>, key: string): (a: Row, b: Row) => number {
  const descending = key.startsWith('-');
  const column = fieldNamed(view, descending ? key.slice(1) : key, 'sort');
  return (a, b) => (descending ? compareValues(column.of(b), column.of(a)) : compareValues(column.of(a), column.of(b)));
}

/** Runs a query; refuses with 400 or 422 what its view does not have. Rows are in the state's own order unless sorted. */
export function runQuery(views: Views, query: Query, flavor: Flavor): Result {
  const view = views.get(query.type);
  if (!view) throw new Refusal(400, `type must be one of ${[...views.keys()].join(', ')}`, { parameter: 'type' });
  const columns = query.fields
    ? query.fields.map((name) => fieldNamed(view, name, 'fields'))
    : view.fields.filter(({ hidden }) => hidden !== true);
  const tests = query.filters.map((filter) => rowTest(view, filter, flavor));
  const comparisons = query.sort.map((key) => comparison(view, key));
  let rows = view.rows();
  if (tests.length > 0) rows = rows.filter((row) => tests.every((test) => test(row)));
  if (comparisons.length > 0) {
    rows = [...rows].sort((a, b) => comparisons.reduce((order, compare) => order || compare(a, b), 0));
  }
  return { view, columns, rows };
}
