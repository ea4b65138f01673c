import { createHash } from 'node:crypto';
import type { Target } from '../config/config.ts';
import { ServiceError } from '../http/errors.ts';
import type { Operation } from './operation.ts';
import { isObject, listItems, type ResponsePage, type ServiceResponse } from './response.ts';

export type QueryPairs = readonly (readonly [string, string])[];

/** Pages that are asked for ahead of the one that is being read, where the first tells how many there are. */
const PREFETCH_PAGES = 3;

/**
 * Follows the pages of a list: `page[number]` by `meta.pagination`, else by `links.next` (without both there is one page), or
 * `next_token` by the body's `NextToken` or the header `X-Nomad-NextToken`. A link is followed only for its page number.
 * @throws ServiceError `malformed` when a page, its number or its token repeats: the list would never end.
 */
export async function* followPages(
  operation: Operation,
  target: Target,
  ask: (extra: QueryPairs) => Promise<ServiceResponse>,
): AsyncGenerator<ResponsePage> {
  const seen = new Set<string>();
  const once = (what: string, value: string): void => {
    if (seen.has(`${what} ${value}`)) throw repeated(operation, target, what);
    seen.add(`${what} ${value}`);
  };
  const askAhead = prefetch(ask);
  for (let extra: QueryPairs | undefined = []; extra !== undefined; ) {
    const answer: ServiceResponse = await askAhead(extra);
    const items = listItems(operation, answer);
    if (items.length > 0 || extra.length > 0) once('page', digest(items));
    yield Object.assign(answer, { items, total: readTotal(answer) });
    extra = nextQuery(operation, target, answer);
    const [name, value] = extra?.[0] ?? [];
    if (name !== undefined && value !== undefined) once(name, value);
  }
}

/** Asks for the pages that follow one by number while it is read; each page still says itself which one comes next. */
function prefetch(
  ask: (extra: QueryPairs) => Promise<ServiceResponse>,
): (extra: QueryPairs) => Promise<ServiceResponse> {
  const asked = new Map<number, Promise<ServiceResponse>>();
  let last = 0;
  const begin = (page: number): Promise<ServiceResponse> => {
    const answer = asked.get(page) ?? ask([[PAGE_NUMBER, String(page)]]);
    asked.set(page, answer);
    answer.catch(() => undefined); // told when it is this page's turn, if it comes to that
    return answer;
  };
  return async (extra) => {
    const [name, value] = extra[0] ?? [];
    if (name !== PAGE_NUMBER) {
      const answer = await ask(extra);
      last = countPages(answer);
      return answer;
    }
    const page = Number(value);
    for (let number = page; number <= Math.min(page + PREFETCH_PAGES, last); number++) begin(number);
    const answer = await begin(page);
    asked.delete(page);
    return answer;
  };
}

/** How many pages there are, by `meta.pagination`; 0 where it does not tell. */
function countPages(answer: ServiceResponse): number {
  const pages = readPagination(answer.json())?.['total-pages'];
  return typeof pages === 'number' ? pages : 0;
}

const PAGE_NUMBER = 'page[number]';

function nextQuery(operation: Operation, target: Target, answer: ServiceResponse): QueryPairs | undefined {
  if (operation.pagination === 'page') {
    const page = nextPageNumber(operation, target, answer.json());
    return page === undefined ? undefined : [[PAGE_NUMBER, String(page)]];
  }
  if (operation.pagination !== 'token') return undefined;
  const value = answer.json();
  const inBody = isObject(value) ? value.NextToken : undefined;
  const token = (typeof inBody === 'string' ? inBody : '') || answer.headers.get('x-nomad-nexttoken');
  return token ? [['next_token', token]] : undefined;
}

function nextPageNumber(operation: Operation, target: Target, value: unknown): number | undefined {
  const pagination = readPagination(value);
  const number = pagination?.['next-page'];
  if (number === null) return undefined;
  if (number === undefined) return linkedPageNumber(operation, target, value);
  const current = pagination?.['current-page'];
  if (typeof number !== 'number' || (typeof current === 'number' && number <= current)) {
    throw repeated(operation, target, PAGE_NUMBER);
  }
  return number;
}

/** `links.next` comes from outside: it may not lead to another origin, and only its page number is taken. */
function linkedPageNumber(operation: Operation, target: Target, value: unknown): number | undefined {
  const link = isObject(value) && isObject(value.links) ? value.links.next : undefined;
  if (typeof link !== 'string' || !URL.canParse(link, target.url)) return undefined;
  const url = new URL(link, target.url);
  if (url.origin !== new URL(target.url).origin) {
    throw malformed(operation, target, `links.next leads to another origin, ${url.origin}`);
  }
  const number = Number(url.searchParams.get(PAGE_NUMBER));
  return Number.isInteger(number) && number > 0 ? number : undefined;
}

function readTotal(answer: ServiceResponse): number | undefined {
  const total = readPagination(answer.json())?.['total-count'];
  return typeof total === 'number' ? total : undefined;
}

function readPagination(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const pagination = isObject(value) && isObject(value.meta) ? value.meta.pagination : undefined;
  return isObject(pagination) ? pagination : undefined;
}

/** Rows by their ids where all have one, else by their content. */
function digest(items: readonly unknown[]): string {
  const ids = items.map((item) => (isObject(item) ? (item.id ?? item.ID) : item));
  const text = ids.every((id) => typeof id === 'string') ? JSON.stringify(ids) : withDigits(items);
  return createHash('sha256').update(text).digest('base64');
}

function withDigits(items: readonly unknown[]): string {
  return JSON.stringify(items, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

function repeated(operation: Operation, target: Target, what: string): ServiceError {
  return malformed(operation, target, `the service sends the same ${what} again: the list would never end`);
}

function malformed({ name }: Operation, target: Target, serviceMessage: string): ServiceError {
  return new ServiceError({
    failure: 'malformed',
    serviceMessage,
    operation: name,
    target: target.name,
    hint: 'try again; if it stays so, the service has a fault',
  });
}
