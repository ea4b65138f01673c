import type { Flavor } from '../types.ts';
import type { FieldType, Value } from './fields.ts';
import { Refusal } from './json-api.ts';

/** Whether a field's value is kept. */
export type Test = (value: Value) => boolean;

interface Operator {
  readonly types: readonly FieldType[];
  /** `wanted` is the filter's value, read as the field's type. */
  readonly test: (wanted: Value) => Test;
}

const EMPTINESS = ['boolean', 'number', 'string'] as const;

const isEmpty: Test = (value) => value === null || value === '';
const text = (value: Value): string => (value === null ? '' : String(value));
const compared =
  (holds: (value: number, wanted: number) => boolean) =>
  (wanted: Value): Test =>
  (value) =>
    typeof value === 'number' && holds(value, Number(wanted));

/** The operator table of platform.md. A missing value differs from every value and lies on no side of one. */
const OPERATORS: Readonly<Record<string, Operator>> = {
  is: { types: ['boolean', 'number', 'string'], test: (wanted) => (value) => value === wanted },
  is_not: { types: ['number', 'string'], test: (wanted) => (value) => value !== wanted },
  contains: { types: ['string'], test: (wanted) => (value) => value !== null && text(value).includes(text(wanted)) },
  'does not contain': {
    types: ['string'],
    test: (wanted) => (value) => value === null || !text(value).includes(text(wanted)),
  },
  is_empty: { types: EMPTINESS, test: () => isEmpty },
  is_not_empty: { types: EMPTINESS, test: () => (value) => !isEmpty(value) },
  gt: { types: ['number'], test: compared((value, wanted) => value > wanted) },
  lt: { types: ['number'], test: compared((value, wanted) => value < wanted) },
  gteq: { types: ['number'], test: compared((value, wanted) => value >= wanted) },
  lteq: { types: ['number'], test: compared((value, wanted) => value <= wanted) },
  is_before: { types: ['datetime'], test: compared((value, wanted) => value < wanted) },
  is_after: { types: ['datetime'], test: compared((value, wanted) => value > wanted) },
};

/** HCP Terraform takes `does_not_contain` only; the documents print the spaced form (live-services.md A4). */
function operatorNamed(name: string, flavor: Flavor): Operator | undefined {
  const known = name === 'does_not_contain' ? 'does not contain' : name;
  if (name === 'does not contain' && flavor === 'hashicorp') return undefined;
  return Object.hasOwn(OPERATORS, known) ? OPERATORS[known] : undefined;
}

/** Milliseconds since 1970; a time without an offset is read as UTC (platform.md). */
export function parseTime(value: string): number {
  const [, day, time = '', offset = ''] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?(Z|[+-]\d\d:?\d\d)?$/i.exec(value) ?? [];
  return day === undefined ? Number.NaN : Date.parse(`${day}T${time || '00:00'}${offset || 'Z'}`);
}

function read(type: FieldType, value: string): Value | undefined {
  if (type === 'string') return value;
  if (type === 'boolean') return value === 'true' ? true : value === 'false' ? false : undefined;
  const number = type === 'number' ? (value.trim() === '' ? Number.NaN : Number(value)) : parseTime(value);
  return Number.isNaN(number) ? undefined : number;
}

/** The test of one filter; refuses with 422 what platform.md's operator table does not allow. */
export function filterTest(type: FieldType, operator: string, value: string, flavor: Flavor, parameter: string): Test {
  const known = operatorNamed(operator, flavor);
  if (!known) throw new Refusal(422, `unknown operator "${operator}"`, { parameter });
  if (!known.types.includes(type)) {
    throw new Refusal(422, `operator "${operator}" does not apply to a ${type} field`, { parameter });
  }
  if (known.test === OPERATORS.is_empty?.test || known.test === OPERATORS.is_not_empty?.test) return known.test(null);
  const wanted = read(type, value);
  if (wanted === undefined) throw new Refusal(422, `"${value}" is not a ${type}`, { parameter });
  return known.test(wanted);
}
