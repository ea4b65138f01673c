import { HttpError } from '../responses.ts';
import type { Flavor } from '../types.ts';

export type ViewFieldType = 'boolean' | 'number' | 'string' | 'datetime';
/** Datetimes are milliseconds since 1970. */
export type FieldValue = boolean | number | string | null;

/** Whether a field's value passes a filter. */
export type ValueTest = (value: FieldValue) => boolean;

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

/** The test of one filter. @throws HttpError 422 for what the operator table does not allow */
export function parseFilter(
  type: ViewFieldType,
  operatorName: string,
  value: string,
  flavor: Flavor,
  parameter: string,
): ValueTest {
  const unprocessable = (detail: string) => new HttpError(422, detail, { parameter });
  const operator = findOperator(operatorName, flavor);
  if (!operator) throw unprocessable(`unknown operator "${operatorName}"`);
  if (!operator.types.includes(type)) {
    throw unprocessable(`operator "${operatorName}" does not apply to a ${type} field`);
  }
  if (operator.ignoresOperand) return operator.test(null);
  const operand = parseOperand(type, value);
  if (operand === undefined) throw unprocessable(`"${value}" is not a ${type}`);
  return operator.test(operand);
}
