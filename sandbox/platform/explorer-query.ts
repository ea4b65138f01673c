import { HttpError } from '../router.ts';
import type { Flavor, Request } from '../types.ts';
import type { SavedViewQuery, ViewFilter } from './context.ts';
import type {
  ExplorerField,
  ExplorerViews,
  FieldValue,
  ViewDefinition,
  ViewFieldType,
  ViewRow,
} from './explorer-views.ts';
import { badParameter } from './json-api.ts';

export type ExplorerQuery = SavedViewQuery & { readonly type: string };

export interface ExplorerResult {
  readonly view: ViewDefinition<ViewRow>;
  readonly columns: readonly ExplorerField<ViewRow>[];
  readonly rows: readonly ViewRow[];
}

const FILTER = /^filter\[([^\]]*)\]\[([^\]]*)\]\[([^\]]*)\]\[([^\]]*)\]$/;

/**
 * The filter parameters of a URL: docs/services/platform.md#explorer-filters. Indexes begin with 0 and have no gap. The
 * specification's own sample repeats an index with another field, so that alone is accepted. HCP Terraform takes several
 * values of one filter, `…[0]` and `…[1]`, as clients send them.
 */
function parseFilters(query: URLSearchParams, flavor: Flavor): ViewFilter[] {
  const filters = new Map<string, ViewFilter & { readonly value: string[] }>();
  const indexes = new Set<number>();
  for (const [parameter, value] of query) {
    if (!parameter.startsWith('filter')) continue;
    const [, index = '', field = '', operator = '', last = ''] = FILTER.exec(parameter) ?? [];
    if (!/^\d+$/.test(index)) throw badParameter('a filter is filter[INDEX][FIELD][OPERATOR][0]', parameter);
    const known = filters.get(`${index}/${field}`);
    const isNext = known?.operator === operator && flavor === 'hashicorp' && last === String(known.value.length);
    if (isNext) known.value.push(value);
    if (isNext) continue;
    if (last !== '0') throw badParameter('the last bracket of a filter must be 0', parameter);
    if (known) throw badParameter(`filter index ${index} is used twice`, parameter);
    filters.set(`${index}/${field}`, { field, operator, value: [value], parameter });
    indexes.add(Number(index));
  }
  const gap = [...indexes].sort((a, b) => a - b).findIndex((index, position) => index !== position);
  if (gap >= 0) throw badParameter(`filter index ${gap} is missing`, 'filter');
  return [...filters.values()];
}

/** The query of `GET …/explorer` and of its CSV export. HCP Terraform also accepts `fields[VIEW]=…`. */
export function parseQuery({ query }: Request, flavor: Flavor): ExplorerQuery {
  const type = query.get('type') ?? '';
  for (const name of ['q', 'include', 'search']) {
    if (query.has(name)) throw badParameter(`${name} is not a parameter of the explorer`, name);
  }
  const fields = query.get('fields') ?? (flavor === 'hashicorp' ? query.get(`fields[${type}]`) : null);
  const sort = query.get('sort');
  return {
    type,
    filter: parseFilters(query, flavor),
    sort: sort ? [sort] : [],
    fields: fields ? fields.split(',') : [],
  };
}

function findField(view: ViewDefinition<ViewRow>, name: string, parameter: string): ExplorerField<ViewRow> {
  const field = view.fields.find((candidate) => candidate.name === name);
  if (field) return field;
  throw new HttpError(422, `unknown field "${name}"`, { parameter });
}

type RowTest = (row: ViewRow) => boolean;

/** @throws HttpError 422 for what the operator table does not allow */
function createRowTest(view: ViewDefinition<ViewRow>, filter: ViewFilter, index: number, flavor: Flavor): RowTest {
  const { field, operator: name, value: values, parameter = `filter[${index}]` } = filter;
  const { type, value: readValue } = findField(view, field, parameter);
  const unprocessable = (detail: string) => new HttpError(422, detail, { parameter });
  const operator = findOperator(name, flavor);
  if (!operator) throw unprocessable(`unknown operator "${name}"`);
  if (!operator.types.includes(type)) throw unprocessable(`operator "${name}" does not apply to a ${type} field`);
  const tests = (values.length > 0 ? values : ['']).map((value) => {
    if (operator.ignoresOperand) return operator.test(null);
    const operand = parseOperand(type, value);
    if (operand === undefined) throw unprocessable(`"${value}" is not a ${type}`);
    return operator.test(operand);
  });
  return (row) => tests.some((test) => test(readValue(row)));
}

/** Missing values come last, as in PostgreSQL; text is compared by code unit. */
function compareValues(a: FieldValue, b: FieldValue): number {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  return a < b ? -1 : 1;
}

function createComparator(view: ViewDefinition<ViewRow>, key: string): (a: ViewRow, b: ViewRow) => number {
  const isDescending = key.startsWith('-');
  const column = findField(view, isDescending ? key.slice(1) : key, 'sort');
  const compare = (a: ViewRow, b: ViewRow) => compareValues(column.value(a), column.value(b));
  return isDescending ? (a, b) => compare(b, a) : compare;
}

/** Runs a query. Rows are in the state's own order unless sorted. @throws HttpError 400 or 422 for what its view does not have */
export function runExplorerQuery(views: ExplorerViews, query: ExplorerQuery, flavor: Flavor): ExplorerResult {
  const view = views.get(query.type);
  if (!view) throw badParameter(`type must be one of ${[...views.keys()].join(', ')}`, 'type');
  const columns = query.fields?.length
    ? query.fields.map((name) => findField(view, name, 'fields'))
    : view.fields.filter(({ hidden }) => hidden !== true);
  const tests = query.filter.map((filter, index) => createRowTest(view, filter, index, flavor));
  const comparators = (query.sort ?? []).map((key) => createComparator(view, key));
  let rows = view.rows();
  if (tests.length > 0) rows = rows.filter((row) => tests.every((test) => test(row)));
  if (comparators.length > 0) {
    rows = [...rows].sort((a, b) => comparators.reduce((order, compare) => order || compare(a, b), 0));
  }
  return { view, columns, rows };
}

type ValueTest = (value: FieldValue) => boolean;

interface Operator {
  readonly types: readonly ViewFieldType[];
  /** `operand` is the filter's value, parsed as the field's type. */
  readonly test: (operand: FieldValue) => ValueTest;
  readonly ignoresOperand?: true;
}

const EMPTINESS = { types: ['boolean', 'number', 'string'], ignoresOperand: true } as const;

function isEmpty(value: FieldValue): boolean {
  return value === null || value === '';
}

function includes(value: FieldValue, operand: FieldValue): boolean {
  return value !== null && String(value).includes(String(operand));
}

function compare(isTrue: (value: number, operand: number) => boolean): Operator['test'] {
  return (operand) => (value) => typeof value === 'number' && isTrue(value, Number(operand));
}

/** docs/services/platform.md#explorer-filters. A missing value differs from every value, and is less or greater than none. */
const OPERATORS: Readonly<Record<string, Operator>> = {
  is: { types: ['boolean', 'number', 'string'], test: (operand) => (value) => value === operand },
  is_not: { types: ['number', 'string'], test: (operand) => (value) => value !== operand },
  contains: { types: ['string'], test: (operand) => (value) => includes(value, operand) },
  'does not contain': { types: ['string'], test: (operand) => (value) => !includes(value, operand) },
  is_empty: { ...EMPTINESS, test: () => isEmpty },
  is_not_empty: { ...EMPTINESS, test: () => (value) => !isEmpty(value) },
  gt: { types: ['number'], test: compare((value, operand) => value > operand) },
  lt: { types: ['number'], test: compare((value, operand) => value < operand) },
  gteq: { types: ['number'], test: compare((value, operand) => value >= operand) },
  lteq: { types: ['number'], test: compare((value, operand) => value <= operand) },
  is_before: { types: ['datetime'], test: compare((value, operand) => value < operand) },
  is_after: { types: ['datetime'], test: compare((value, operand) => value > operand) },
};

/** HCP Terraform accepts `does_not_contain` only; the specification prints the spaced form. */
function findOperator(name: string, flavor: Flavor): Operator | undefined {
  const key = name === 'does_not_contain' ? 'does not contain' : name;
  if (name === 'does not contain' && flavor === 'hashicorp') return undefined;
  return Object.hasOwn(OPERATORS, key) ? OPERATORS[key] : undefined;
}

/** Milliseconds since 1970, NaN for no time; a time without an offset is UTC. */
export function parseTime(value: string): number {
  const [, day, time = '', offset = ''] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?(Z|[+-]\d\d:?\d\d)?$/i.exec(value) ?? [];
  return day === undefined ? Number.NaN : Date.parse(`${day}T${time || '00:00'}${offset || 'Z'}`);
}

function parseOperand(type: ViewFieldType, value: string): FieldValue | undefined {
  if (type === 'string') return value;
  if (type === 'boolean') return value === 'true' ? true : value === 'false' ? false : undefined;
  const number = type === 'number' ? (value.trim() === '' ? Number.NaN : Number(value)) : parseTime(value);
  return Number.isNaN(number) ? undefined : number;
}
