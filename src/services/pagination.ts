import { createHash } from 'node:crypto';
import type { Target } from '../config/config.ts';
import { ServiceError } from '../http/errors.ts';
import type { Operation, QueryPairs } from './operation.ts';
import { isObject, listItems, type ResponsePage, type ServiceResponse } from './response.ts';

type FetchPage = (pageQuery: QueryPairs) => Promise<ServiceResponse>;

const PAGE_NUMBER = 'page[number]';

/** Pages requested ahead of the current one, once the first page reports how many there are. */
const PREFETCH_PAGES = 3;

/**
 * Reads the pages of a list one after the other. The next page is, in this order:
 * - by number: `meta.pagination`, else `links.next` (only its page number is used), else none;
 * - by token: `NextToken` of the body, else the header `X-Nomad-NextToken`, else none.
 * @throws ServiceError `malformed` when a page, its number or its token repeats: the list would never end
 */
export async function* followPages(
  operation: Operation,
  target: Target,
  fetchPage: FetchPage,
): AsyncGenerator<ResponsePage> {
  const seen = new Set<string>();
  const assertNew = (what: string, value: string): void => {
    if (seen.has(`${what} ${value}`)) throw repeatedError(operation, target, what);
    seen.add(`${what} ${value}`);
  };
  const fetchWithPrefetch = prefetch(fetchPage);
  for (let pageQuery: QueryPairs | undefined = []; pageQuery !== undefined; ) {
    const response: ServiceResponse = await fetchWithPrefetch(pageQuery);
    const items = listItems(operation, response);
    if (items.length > 0 || pageQuery.length > 0) assertNew('page', digestItems(items));
    yield Object.assign(response, { items, total: readTotal(response) });
    pageQuery = nextQuery(operation, target, response);
    const [name, value] = pageQuery?.[0] ?? [];
    if (name !== undefined && value !== undefined) assertNew(name, value);
  }
}

/** Requests numbered pages before their turn. Which page is next is still read from each page. */
function prefetch(fetchPage: FetchPage): FetchPage {
  const requested = new Map<number, Promise<ServiceResponse>>();
  let lastPage = 0;
  const request = (page: number): Promise<ServiceResponse> => {
    const response = requested.get(page) ?? fetchPage([[PAGE_NUMBER, String(page)]]);
    requested.set(page, response);
    response.catch(() => undefined); // reported when it is the turn of this page, if ever
    return response;
  };
  return async (pageQuery) => {
    const [name, value] = pageQuery[0] ?? [];
    if (name !== PAGE_NUMBER) {
      const response = await fetchPage(pageQuery);
      lastPage = countPages(response);
      return response;
    }
    const page = Number(value);
    for (let number = page; number <= Math.min(page + PREFETCH_PAGES, lastPage); number++) request(number);
    const response = await request(page);
    requested.delete(page);
    return response;
  };
}

/** The number of pages according to `meta.pagination`; 0 when it is not reported. */
function countPages(response: ServiceResponse): number {
  const pages = readPagination(response.json())?.['total-pages'];
  return typeof pages === 'number' ? pages : 0;
}

function nextQuery(operation: Operation, target: Target, response: ServiceResponse): QueryPairs | undefined {
  if (operation.pagination === 'page') {
    const page = nextPageNumber(operation, target, response.json());
    return page === undefined ? undefined : [[PAGE_NUMBER, String(page)]];
  }
  if (operation.pagination !== 'token') return undefined;
  const value = response.json();
  const inBody = isObject(value) ? value.NextToken : undefined;
  const token = (typeof inBody === 'string' ? inBody : '') || response.headers.get('x-nomad-nexttoken');
  return token ? [['next_token', token]] : undefined;
}

function nextPageNumber(operation: Operation, target: Target, value: unknown): number | undefined {
  const pagination = readPagination(value);
  const number = pagination?.['next-page'];
  if (number === null) return undefined;
  if (number === undefined) return linkedPageNumber(operation, target, value);
  const current = pagination?.['current-page'];
  if (typeof number !== 'number' || (typeof current === 'number' && number <= current)) {
    throw repeatedError(operation, target, PAGE_NUMBER);
  }
  return number;
}

/** The page number of `links.next`, which must not lead to another origin. */
function linkedPageNumber(operation: Operation, target: Target, value: unknown): number | undefined {
  const link = isObject(value) && isObject(value.links) ? value.links.next : undefined;
  if (typeof link !== 'string' || !URL.canParse(link, target.url)) return undefined;
  const url = new URL(link, target.url);
  if (url.origin !== new URL(target.url).origin) {
    throw malformedError(operation, target, `links.next leads to another origin, ${url.origin}`);
  }
  const number = Number(url.searchParams.get(PAGE_NUMBER));
  return Number.isInteger(number) && number > 0 ? number : undefined;
}

function readTotal(response: ServiceResponse): number | undefined {
  const total = readPagination(response.json())?.['total-count'];
  return typeof total === 'number' ? total : undefined;
}

function readPagination(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const pagination = isObject(value) && isObject(value.meta) ? value.meta.pagination : undefined;
  return isObject(pagination) ? pagination : undefined;
}

/** A digest of the items' ids, or of their content when some have no id. */
function digestItems(items: readonly unknown[]): string {
  const ids = items.map((item) => (isObject(item) ? (item.id ?? item.ID) : item));
  const text = ids.every((id) => typeof id === 'string') ? JSON.stringify(ids) : stringifyItems(items);
  return createHash('sha256').update(text).digest('base64');
}

function stringifyItems(items: readonly unknown[]): string {
  return JSON.stringify(items, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

function repeatedError(operation: Operation, target: Target, what: string): ServiceError {
  return malformedError(operation, target, `the service sends the same ${what} again: the list would never end`);
}

function malformedError({ name }: Operation, target: Target, serviceMessage: string): ServiceError {
  return new ServiceError({
    failure: 'malformed',
    serviceMessage,
    operation: name,
    target: target.name,
    hint: 'try again; if the error persists, the service is faulty',
  });
}
