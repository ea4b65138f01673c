import { parseJson } from '../http/json.ts';
import { failure, type Result } from '../http/outcome.ts';
import { extractErrorMessage, looksLikeHtml } from '../http/words.ts';
import type { Args, Operation } from './operation.ts';

/** What came back. */
export interface ServiceResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The body as it was sent, digit for digit. */
  readonly text: string;
  /** The body parsed; integers beyond 2^53 as bigint; undefined when it is empty. @throws SyntaxError if it is no JSON */
  json(): unknown;
}

export interface ResponsePage extends ServiceResponse {
  readonly items: readonly unknown[];
  /** Rows in all, where the service states it. */
  readonly total: number | undefined;
}

export function toResponse(status: number, headers: Headers, text: string): ServiceResponse {
  let parsed: { readonly value: unknown } | undefined;
  return {
    status,
    headers,
    text,
    json() {
      parsed ??= { value: text.trim() === '' ? undefined : parseJson(text) };
      return parsed.value;
    },
  };
}

/** An answer of success in the form that the operation promises; a login page with status 200 is not one. */
export function checkShape(operation: Operation, args: Args, answer: ServiceResponse): Result<ServiceResponse> {
  const wrong = (message: string): Result<ServiceResponse> =>
    failure({ failure: 'malformed', status: answer.status, message, retryable: 'few', notProcessed: false });
  const { text } = answer;
  if (looksLikeHtml(text)) return wrong(`expected ${describeExpected(operation)}, got ${extractErrorMessage(text)}`);
  // A write that went well may say nothing more (the documents leave most of their answers open); a GET is made for its answer.
  if (operation.mutates && operation.method !== 'GET' && text.trim() === '') return { ok: true, value: answer };
  if (isText(operation, args)) return { ok: true, value: answer };
  try {
    const value = answer.json();
    if (matchesShape(operation, value) && (!isList(operation) || findItems(operation, value) !== undefined))
      return { ok: true, value: answer };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return wrong(`expected ${describeExpected(operation)}, got ${summarize(answer)}`);
}

/** The documents do not show what most writes answer (`any`): it is taken as it comes. */
function isText({ responseType }: Operation, args: Args): boolean {
  return (
    responseType === 'any' ||
    responseType === 'csv' ||
    responseType === 'text' ||
    responseType === 'health' ||
    args.format === 'prometheus'
  );
}

function matchesShape({ responseType }: Operation, value: unknown): boolean {
  if (responseType === 'array') return Array.isArray(value);
  if (responseType === 'object') return isObject(value);
  if (responseType === 'keys') return isObject(value) && isObject(value.data) && Array.isArray(value.data.keys);
  if (responseType === 'data') return isObject(value) && isObject(value.data);
  return isObject(value) && typeof value.data === 'object' && value.data !== null;
}

const EXPECTED: Record<Operation['responseType'], string> = {
  document: 'a JSON:API document with `data`',
  data: 'a JSON object with `data`',
  keys: 'a JSON object with `data.keys`',
  array: 'a JSON array',
  object: 'a JSON object',
  csv: 'CSV',
  text: 'text',
  any: 'a JSON answer',
  health: 'a state of health',
};

function describeExpected({ responseType, itemsPath }: Operation): string {
  return responseType === 'object' && itemsPath !== undefined
    ? `${EXPECTED.object} with a list in \`${itemsPath}\``
    : EXPECTED[responseType];
}

/** What came instead, without its content: that may hold secrets. */
function summarize({ text, headers }: ServiceResponse): string {
  const type = headers.get('content-type')?.split(';')[0]?.trim() ?? 'no content type';
  const start = text.trimStart()[0];
  const form =
    text.trim() === ''
      ? 'an empty body'
      : start === '{'
        ? 'a JSON object or part of one'
        : start === '['
          ? 'a JSON array or part of one'
          : 'something else';
  return `${form} (${type}, ${text.length} characters)`;
}

/** Whether the operation answers with a list, in pages or at once. */
export function isList({ pagination, itemsPath, responseType }: Operation): boolean {
  return pagination !== undefined || itemsPath !== undefined || responseType === 'array';
}

/** The items of a list's answer; none where it is no list. */
export function listItems(operation: Operation, answer: ServiceResponse): readonly unknown[] {
  return findItems(operation, answer.json()) ?? [];
}

/** The items at the operation's place for them in a parsed answer; undefined where there is no list. */
export function findItems(operation: Operation, value: unknown): readonly unknown[] | undefined {
  const path = operation.itemsPath ?? (operation.responseType === 'document' ? 'data' : '');
  const names = path.split('.').filter((name) => name !== '');
  const found = names.reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), value);
  if (found === null) return [];
  return Array.isArray(found) ? found : undefined;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
