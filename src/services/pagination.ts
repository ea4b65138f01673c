import { createHash } from 'node:crypto';
import type { Target } from '../config/config.ts';
import { canonicalJson } from '../core/canonical-json.ts';
import { isObject } from '../core/is-object.ts';
import type { Log } from '../core/log.ts';
import { plural } from '../core/plural.ts';
import { ServiceError } from '../http/errors.ts';
import { createPageCounter, readBounds } from './bounds.ts';
import type { Args, Operation, QueryPairs } from './operation.ts';
import { listItems, type ResponsePage, type ServiceResponse } from './response.ts';

/** Fetches one page. The query replaces arguments of the same name. */
type FetchPage = (pageQuery: QueryPairs) => Promise<ServiceResponse>;

/** A parameter that sets the number of items per page, and the number in use. */
interface PageSize {
  readonly param: 'per_page' | 'page[size]';
  readonly items: number;
}

/** A list that is read page by page. */
interface PagedList {
  readonly operation: Operation;
  readonly target: Target;
  /** Undefined when the service chooses the size. */
  readonly size: PageSize | undefined;
  /** Whether reading begins with the first page. */
  readonly isWhole: boolean;
}

const PAGE_NUMBER = 'page[number]';

/** Items per page of lists that require a size: docs/services/scheduler.md#pagination. */
const REQUIRED_SIZE = 100;

/** Rows per page without `page[size]`: docs/services/platform.md#pagination. */
const DEFAULT_ROWS = 20;

/** Adds a page size where the service requires one. Where it does not, a size could hide items. */
export function withRequiredSize({ params }: Operation, { flavor }: Target, args: Args): Args {
  const isRequired = params.per_page?.required === 'spec' && flavor !== 'hashicorp';
  return isRequired && args.per_page === undefined ? { ...args, per_page: REQUIRED_SIZE } : args;
}

export function createPagedList(operation: Operation, target: Target, args: Args): PagedList {
  const param = (['per_page', 'page[size]'] as const).find((name) => operation.params[name] !== undefined);
  const items = Number(args[param ?? ''] ?? (param === 'page[size]' ? DEFAULT_ROWS : 0));
  const size = param !== undefined && Number.isInteger(items) && items > 0 ? { param, items } : undefined;
  return { operation, target, size, isWhole: !args[PAGE_NUMBER] && !args.next_token };
}

/** The token of the next page, from the body or from the header. */
function nextToken({ operation }: PagedList, response: ServiceResponse): string | undefined {
  if (operation.pagination !== 'token') return undefined;
  const value = response.json();
  const inBody = isObject(value) ? value.NextToken : undefined;
  return (typeof inBody === 'string' ? inBody : '') || response.headers.get('x-nomad-nexttoken') || undefined;
}

/** A digest of the items' ids, or of their content when some have no id. */
function digestItems(operation: Operation, response: ServiceResponse): string {
  const items = listItems(operation, response);
  const ids = items.map((item) => (isObject(item) ? (item.id ?? item.ID) : item));
  const text = canonicalJson(ids.every((id) => typeof id === 'string') ? ids : items);
  return createHash('sha256').update(text).digest('base64');
}

/** The list has another number of rows than the service reports: it may have changed while its pages were read. */
export class IncompleteListError extends ServiceError {}

function describeFault({ operation, target }: PagedList, serviceMessage: string) {
  return {
    failure: 'malformed',
    operation: operation.name,
    target: target.name,
    serviceMessage,
    hint: 'try again; if the error persists, the service is faulty',
  } as const;
}

function malformedError(list: PagedList, serviceMessage: string): ServiceError {
  return new ServiceError(describeFault(list, serviceMessage));
}

/** Pages requested ahead of the current one, once the first page reports how many there are. */
const PREFETCH_PAGES = 3;

/**
 * Reads the pages of a list one after the other. The next page is, in this order:
 * - by number: `meta.pagination`, else `links.next` (only its page number is used), else none;
 * - by token: `NextToken` of the body, else the header `X-Nomad-NextToken`, else none.
 *
 * A page that is exactly full, says nothing of pages, or contradicts itself is followed only by none if that is proven: by the reported
 * total, or by another request.
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
  const count = createPageCounter(readBounds(list.target), `the list of ${operation.name}`);
  let received = 0;
  let total: number | undefined;
  let pages = 0;
  let reportedPages = 0;
  for (let pageQuery: QueryPairs | undefined = []; pageQuery !== undefined; ) {
    const response: ServiceResponse = await fetch(pageQuery);
    const items = listItems(operation, response);
    count(items.length);
    if (items.length > 0 || pageQuery.length > 0) assertNew('page', digestItems(operation, response));
    const reported = readCounter(response, 'total-count');
    yield Object.assign(response, { items, total: reported });
    received += items.length;
    total = reported ?? total;
    pages++;
    reportedPages = readCounter(response, 'total-pages') ?? reportedPages;
    const named = nextQuery(list, response);
    const isProven = operation.pagination !== 'page' || total !== undefined;
    pageQuery = named ?? (isProven ? undefined : await findUnnamedPage(list, pageQuery, response, fetchPage));
    const [name, value] = pageQuery?.[0] ?? [];
    if (name !== undefined && value !== undefined) assertNew(name, value);
  }
  if (list.isWhole && total !== undefined && received < total) {
    throw new IncompleteListError(describeFault(list, `${plural(received, 'row')} received, ${total} reported`));
  }
  if (list.isWhole && total === undefined && pages < reportedPages) {
    throw new IncompleteListError(describeFault(list, `${plural(pages, 'page')} received, ${reportedPages} reported`));
  }
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
      lastPage = readCounter(response, 'total-pages') ?? 0;
      return response;
    }
    const page = Number(value);
    for (let number = page; number <= Math.min(page + PREFETCH_PAGES, lastPage); number++) void request(number);
    const response = await request(page);
    requested.delete(page);
    return response;
  };
}

function nextQuery(list: PagedList, response: ServiceResponse): QueryPairs | undefined {
  const isNumbered = list.operation.pagination === 'page';
  const next = isNumbered ? nextPageNumber(list, response.json()) : nextToken(list, response);
  return next === undefined ? undefined : [[isNumbered ? PAGE_NUMBER : 'next_token', String(next)]];
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

/** A number of `meta.pagination`; undefined when it is not reported. */
function readCounter(response: ServiceResponse, name: 'total-pages' | 'total-count'): number | undefined {
  const value = readPagination(response.json())?.[name];
  return typeof value === 'number' ? value : undefined;
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
  return isFull(list, response, size) && nextToken(list, response) === undefined;
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
  if (items > 1 && nextToken(list, await fetchSized(items - 1)) !== undefined) return;
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

/** Whether a page that names no next one says nevertheless that there are more: by the number of pages, or by its link. */
function saysMore(list: PagedList, page: number, response: ServiceResponse): boolean {
  return (readCounter(response, 'total-pages') ?? 0) > page || (linkedPageNumber(list, response.json()) ?? 0) > page;
}

/**
 * The query of the numbered page that a page does not name: a full one without a total, one that says nothing of pages, or one that
 * contradicts itself.
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
  const page = Number(pageQuery[0]?.[1] ?? 1);
  if (!isFull(list, response, list.size) && !isUnpaged(list, response) && !saysMore(list, page, response))
    return undefined;
  const query: QueryPairs = [[PAGE_NUMBER, String(page + 1)]];
  const next = await fetchPage(query).catch(undefinedIfRefused);
  if (next === undefined || listItems(operation, next).length === 0) return undefined;
  if (digestItems(operation, next) !== digestItems(operation, response)) return query;
  // The service ignores page numbers. A larger page then has to have the same rows.
  const { param, items } = list.size;
  const larger = await fetchPage([[param, String(items * GROWTH)]]).catch(undefinedIfRefused);
  if (larger && digestItems(operation, larger) === digestItems(operation, response)) return undefined;
  throw malformedError(list, 'a page names no next page, and page numbers are ignored: there may be more');
}

/** A service may limit the page size, and may have no page of a number. */
function undefinedIfRefused(error: unknown): undefined {
  if (error instanceof ServiceError && ['invalid', 'not-found'].includes(error.failure)) return undefined;
  throw error;
}
