import { isObject } from '../core/is-object.ts';
import type { Log } from '../core/log.ts';
import { ServiceError } from '../http/errors.ts';
import type { QueryPairs } from './operation.ts';
import {
  digestItems,
  type FetchPage,
  incompleteError,
  malformedError,
  nextToken,
  PAGE_NUMBER,
  PageCounter,
  type PagedList,
  type PageSize,
  readBounds,
} from './paged-list.ts';
import { listItems, type ResponsePage, type ServiceResponse } from './response.ts';

/** Pages requested ahead of the current one, once the first page reports how many there are. */
const PREFETCH_PAGES = 3;

/**
 * Reads the pages of a list one after the other. The next page is, in this order:
 * - by number: `meta.pagination`, else `links.next` (only its page number is used), else none;
 * - by token: `NextToken` of the body, else the header `X-Nomad-NextToken`, else none.
 *
 * A page that is exactly full, or says nothing of pages, is followed only by none if that is proven: by the reported total, or by another
 * request.
 * @throws ServiceError `malformed` when a page, its number or its token repeats: the list would never end; IncompleteListError
 */
export async function* followPages(list: PagedList, fetchPage: FetchPage, log: Log): AsyncGenerator<ResponsePage> {
  const { operation } = list;
  const seen = new Set<string>();
  const assertNew = (what: string, value: string): void => {
    if (seen.has(`${what} ${value}`)) throw repeatedError(list, what);
    seen.add(`${what} ${value}`);
  };
  const fetch = operation.pagination === 'token' ? createTokenPages(list, fetchPage, log) : prefetch(fetchPage);
  const counter = new PageCounter(readBounds(list.target), `the list of ${operation.name}`);
  let received = 0;
  let total: number | undefined;
  for (let pageQuery: QueryPairs | undefined = []; pageQuery !== undefined; ) {
    const response: ServiceResponse = await fetch(pageQuery);
    const items = listItems(operation, response);
    counter.count(items.length);
    if (items.length > 0 || pageQuery.length > 0) assertNew('page', digestItems(operation, response));
    yield Object.assign(response, { items, total: readTotal(response) });
    received += items.length;
    total = readTotal(response) ?? total;
    const named = nextQuery(list, response);
    const isProven = operation.pagination !== 'page' || total !== undefined;
    pageQuery = named ?? (isProven ? undefined : await findUnnamedPage(list, pageQuery, response, fetchPage));
    const [name, value] = pageQuery?.[0] ?? [];
    if (name !== undefined && value !== undefined) assertNew(name, value);
  }
  if (list.isWhole && total !== undefined && received < total) throw incompleteError(list, received, total);
}

/** Requests numbered pages before their turn. Which page is next is still read from each page. */
function prefetch(fetchPage: FetchPage): FetchPage {
  const requested = new Map<number, Promise<ServiceResponse>>();
  let lastPage = 0;
  const request = (page: number): Promise<ServiceResponse> => {
    const response = requested.get(page) ?? fetchPage([[PAGE_NUMBER, String(page)]]);
    requested.set(page, response);
    void response.catch(() => undefined); // reported when it is the turn of this page, if ever
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
    for (let number = page; number <= Math.min(page + PREFETCH_PAGES, lastPage); number++) void request(number);
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

function nextQuery(list: PagedList, response: ServiceResponse): QueryPairs | undefined {
  const { pagination } = list.operation;
  if (pagination === 'page') {
    const page = nextPageNumber(list, response.json());
    return page === undefined ? undefined : [[PAGE_NUMBER, String(page)]];
  }
  const token = pagination === 'token' ? nextToken(response) : undefined;
  return token === undefined ? undefined : [['next_token', token]];
}

function nextPageNumber(list: PagedList, value: unknown): number | undefined {
  const pagination = readPagination(value);
  const number = pagination?.['next-page'];
  if (number === null) return undefined;
  if (number === undefined) return linkedPageNumber(list, value);
  const current = pagination?.['current-page'];
  if (typeof number !== 'number' || (typeof current === 'number' && number <= current)) {
    throw repeatedError(list, PAGE_NUMBER);
  }
  if (!isPageNumber(number)) throw malformedError(list, `the number of the next page is ${number}`);
  return number;
}

/** The page number of `links.next`, which must not lead to another origin. */
function linkedPageNumber(list: PagedList, value: unknown): number | undefined {
  const { target } = list;
  const link = isObject(value) && isObject(value.links) ? value.links.next : undefined;
  if (typeof link !== 'string' || !URL.canParse(link, target.url)) return undefined;
  const url = new URL(link, target.url);
  if (url.origin !== new URL(target.url).origin) {
    throw malformedError(list, `links.next leads to another origin, ${url.origin}`);
  }
  const number = Number(url.searchParams.get(PAGE_NUMBER));
  return isPageNumber(number) ? number : undefined;
}

/** Larger numbers are no pages: adding one to a number of 300 digits does not change it. */
const MAX_PAGE_NUMBER = 2 ** 31;

function isPageNumber(number: number): boolean {
  return Number.isInteger(number) && number > 0 && number < MAX_PAGE_NUMBER;
}

function readTotal(response: ServiceResponse): number | undefined {
  const total = readPagination(response.json())?.['total-count'];
  return typeof total === 'number' ? total : undefined;
}

function readPagination(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const pagination = isObject(value) && isObject(value.meta) ? value.meta.pagination : undefined;
  return isObject(pagination) ? pagination : undefined;
}

function repeatedError(list: PagedList, what: string) {
  return malformedError(list, `the service sends the same ${what} again: the list would never end`);
}

/**
 * A page that is exactly full and names no next page proves nothing: some storage drivers honour the page size and never name a next
 * page (docs/services/scheduler.md#pagination). The functions here find out whether there are more items.
 */

const GROWTH = 10;
const MAX_SIZE = 1_000_000;

/** Fetches pages by token. A full one that names no next page is requested with a larger size, until it is not full. */
function createTokenPages(list: PagedList, fetchPage: FetchPage, log: Log): FetchPage {
  const { operation, target } = list;
  const count = (response: ServiceResponse) => listItems(operation, response).length;
  let trusted = list.size;
  return async (pageQuery) => {
    const fetchSized = (items: number) => fetchPage([...pageQuery, ['per_page', String(items)]]);
    let response = await (trusted === list.size ? fetchPage(pageQuery) : fetchSized(trusted?.items ?? 0));
    let size = trusted;
    while (isUnproven(list, response, size)) {
      const items = size.items * GROWTH;
      if (items > MAX_SIZE) throw malformedError(list, `a page of ${size.items} items names no next page`);
      const larger = await fetchSized(items).catch(undefinedIfRefused);
      if (larger === undefined) {
        await assertNamesNextPage(list, size.items, fetchSized);
        return response;
      }
      size = { ...size, items };
      if (count(larger) > count(response)) {
        trusted = size;
        const counts = `a page of ${count(response)} items names no next page, one of ${items} has more`;
        log.info(`${target.name}: ${operation.name}: ${counts}; the smaller size is not used any more`);
      }
      response = larger;
    }
    return response;
  };
}

function isUnproven(list: PagedList, response: ServiceResponse, size: PageSize | undefined): size is PageSize {
  return isFull(list, response, size) && nextToken(response) === undefined;
}

function isFull({ operation }: PagedList, response: ServiceResponse, size: PageSize | undefined): size is PageSize {
  return size !== undefined && listItems(operation, response).length >= size.items;
}

/** A service that refuses a larger page has to name the next page of a smaller one. */
async function assertNamesNextPage(
  list: PagedList,
  items: number,
  fetchSized: (items: number) => Promise<ServiceResponse>,
): Promise<void> {
  if (items > 1 && nextToken(await fetchSized(items - 1)) !== undefined) return;
  const problem = `a page of ${items} items names no next page, and a larger one is refused`;
  throw malformedError(list, `${problem}: there may be more`);
}

/** Whether a numbered page says nothing of pages. The service may have a size of its own, so that its length proves nothing either. */
function isUnpaged({ operation, size }: PagedList, response: ServiceResponse): boolean {
  if (size?.param !== 'page[size]' || listItems(operation, response).length === 0) return false;
  const document = response.json();
  const hasLink = isObject(document) && isObject(document.links) && 'next' in document.links;
  return readPagination(document) === undefined && !hasLink;
}

/**
 * The query of the numbered page that a page does not name: a full one without a total, or one that says nothing of pages.
 * @param pageQuery the query of the page
 * @returns undefined when there is no such page
 */
async function findUnnamedPage(
  list: PagedList,
  pageQuery: QueryPairs,
  response: ServiceResponse,
  fetchPage: FetchPage,
): Promise<QueryPairs | undefined> {
  const { operation } = list;
  if (!list.isWhole || list.size === undefined) return undefined;
  if (!isFull(list, response, list.size) && !isUnpaged(list, response)) return undefined;
  const query: QueryPairs = [[PAGE_NUMBER, String(Number(pageQuery[0]?.[1] ?? 1) + 1)]];
  const next = await fetchPage(query).catch(undefinedIfRefused);
  if (next === undefined || listItems(operation, next).length === 0) return undefined;
  if (digestItems(operation, next) !== digestItems(operation, response)) return query;
  await assertSinglePage(list, list.size, response, fetchPage);
  return undefined;
}

/** The service ignores page numbers. A larger page then has to have the same rows. */
async function assertSinglePage(
  list: PagedList,
  { param, items }: PageSize,
  response: ServiceResponse,
  fetchPage: FetchPage,
): Promise<void> {
  const larger = await fetchPage([[param, String(items * GROWTH)]]).catch(undefinedIfRefused);
  if (larger && digestItems(list.operation, larger) === digestItems(list.operation, response)) return;
  throw malformedError(list, 'a page names no next page, and page numbers are ignored: there may be more');
}

/** A service may limit the page size, and may have no page of a number. */
function undefinedIfRefused(error: unknown): undefined {
  if (error instanceof ServiceError && ['invalid', 'not-found'].includes(error.failure)) return undefined;
  throw error;
}
