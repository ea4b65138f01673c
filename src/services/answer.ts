import { parseJson } from '../http/json.ts';
import { failed, type Outcome } from '../http/outcome.ts';
import { looksLikeHtml, wordsOf } from '../http/words.ts';
import type { Args, Operation } from './operation.ts';

/** What came back. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The body as it was sent, digit for digit. */
  readonly text: string;
  /** The body parsed; integers beyond 2^53 as bigint; undefined when it is empty. @throws SyntaxError if it is no JSON */
  json(): unknown;
}

export interface Page extends Answer {
  readonly items: readonly unknown[];
  /** Rows in all, where the service states it. */
  readonly total: number | undefined;
}

export function answerOf(status: number, headers: Headers, text: string): Answer {
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
export function shaped(operation: Operation, args: Args, answer: Answer): Outcome<Answer> {
  const wrong = (words: string): Outcome<Answer> =>
    failed({ failure: 'malformed', status: answer.status, words, again: 'few', unsent: false });
  const { text } = answer;
  if (looksLikeHtml(text)) return wrong(`expected ${expected(operation)}, got ${wordsOf(text)}`);
  // A write that went well may say nothing more (the documents leave most of their answers open); a GET is made for its answer.
  if (operation.changes && operation.method !== 'GET' && text.trim() === '') return { ok: true, value: answer };
  if (isText(operation, args)) return { ok: true, value: answer };
  try {
    const value = answer.json();
    if (fits(operation, value) && (!isList(operation) || itemsAt(operation, value) !== undefined))
      return { ok: true, value: answer };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return wrong(`expected ${expected(operation)}, got ${glimpse(answer)}`);
}

/** The documents do not show what most writes answer (`any`): it is taken as it comes. */
function isText({ answers }: Operation, args: Args): boolean {
  return (
    answers === 'any' || answers === 'csv' || answers === 'text' || answers === 'health' || args.format === 'prometheus'
  );
}

function fits({ answers }: Operation, value: unknown): boolean {
  if (answers === 'array') return Array.isArray(value);
  if (answers === 'object') return isObject(value);
  if (answers === 'keys') return isObject(value) && isObject(value.data) && Array.isArray(value.data.keys);
  if (answers === 'data') return isObject(value) && isObject(value.data);
  return isObject(value) && typeof value.data === 'object' && value.data !== null;
}

const EXPECTED: Record<Operation['answers'], string> = {
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

function expected({ answers, items }: Operation): string {
  return answers === 'object' && items !== undefined
    ? `${EXPECTED.object} with a list in \`${items}\``
    : EXPECTED[answers];
}

/** What came instead, without its content: that may hold secrets. */
function glimpse({ text, headers }: Answer): string {
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
export function isList({ paging, items, answers }: Operation): boolean {
  return paging !== undefined || items !== undefined || answers === 'array';
}

/** The items of a list's answer; none where it is no list. */
export function itemsOf(operation: Operation, answer: Answer): readonly unknown[] {
  return itemsAt(operation, answer.json()) ?? [];
}

/** The items at the operation's place for them in a parsed answer; undefined where there is no list. */
export function itemsAt(operation: Operation, value: unknown): readonly unknown[] | undefined {
  const path = operation.items ?? (operation.answers === 'document' ? 'data' : '');
  const names = path.split('.').filter((name) => name !== '');
  const found = names.reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), value);
  if (found === null) return [];
  return Array.isArray(found) ? found : undefined;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
