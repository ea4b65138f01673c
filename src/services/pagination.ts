import type { Target } from '../config/config.ts';
import { digestJson } from '../core/canonical-json.ts';
import { isObject, numberAt, textAt, valueAt } from '../core/json-path.ts';
import type { Log } from '../core/log.ts';
import { plural } from '../core/plural.ts';
import { ServiceError } from '../http/errors.ts';
import { createPageCounter, readBounds } from './bounds.ts';
import type { Args, Operation, QueryPairs } from './operation.ts';
import { listItems, type ResponsePage, type ServiceResponse } from './response.ts';

/** Fetches one page. The query replaces arguments of the same name. */
type FetchPage = (pageQuery: QueryPairs) => Promise<ServiceResponse>;

interface ListRequest {
  readonly operation: Operation;
  readonly target: Target;
  readonly args: Args;
  readonly log: Log;
}

const PAGE_NUMBER = 'page[number]';
const PAGINATION = ['meta', 'pagination'] as const;

/** Items per page of lists that require a size: docs/services/scheduler.md#pagination. */
const REQUIRED_SIZE = 100;

/** Rows per page without `page[size]`: docs/services/platform.md#pagination. */
const DEFAULT_ROWS = 20;

/** Adds a page size where the service requires one. Where it does not, a size could hide items. */
export function withRequiredSize({ params }: Operation, { flavor }: Target, args: Args): Args {
  const isRequired = params.per_page?.required === 'spec' && flavor !== 'hashicorp';
  return isRequired && args.per_page === undefined ? { ...args, per_page: REQUIRED_SIZE } : args;
}

/** The list has another number of rows than the service reports: it may have changed while its pages were read. */
export class IncompleteListError extends ServiceError {}

/** Pages requested ahead of the current one, once the first page reports how many there are. */
const PREFETCH_PAGES = 3;
/** How much larger the page is that is compared with a full one. */
const GROWTH = 10;
const MAX_SIZE = 1_000_000;
/** Larger numbers are no pages: adding one to a number of 300 digits does not change it. */
const MAX_PAGE_NUMBER = 2 ** 31;

/**
 * Reads the pages of a list one after the other. The next page is, in this order:
 * - by number: `meta.pagination`, else `links.next` (only its page number is used), else none;
 * - by token: `NextToken` of the body, else the header `X-Nomad-NextToken`, else none.
 *
 * A page that is exactly full, says nothing of pages, or contradicts itself is followed only by none if that is proven: by the reported
 * total, or by another request. Some storage drivers honour the page size and never name a next page (docs/services/scheduler.md#pagination).
 * @throws ServiceError `malformed` when a page, its number or its token repeats: the list would never end; IncompleteListError
 */
export async function* readPages(list: ListRequest, fetchPage: FetchPage): AsyncGenerator<ResponsePage> {
  const { operation, target, args, log } = list;
  const { name, pagination } = operation;
  const sizeParam = (['per_page', 'page[size]'] as const).find((param) => operation.params[param] !== undefined);
  const given = Number(args[sizeParam ?? ''] ?? (sizeParam === 'page[size]' ? DEFAULT_ROWS : 0));
  /** Undefined when the service chooses the size. */
  const ownSize = Number.isInteger(given) && given > 0 ? given : undefined;
  /** The size in use, once the original one proved to hide items. */
  let grownSize: number | undefined;
  /** Whether reading begins with the first page. */
  const isWhole = !args[PAGE_NUMBER] && !args.next_token;
  const seen = new Set<string>();

  const itemsOf = (response: ServiceResponse) => listItems(operation, response);
  const fault = (serviceMessage: string, Fault = ServiceError): ServiceError => {
    const hint = 'try again; if the error persists, the service is faulty';
    return new Fault({ failure: 'malformed', operation: name, target: target.name, serviceMessage, hint });
  };
  const repeated = (what: string) => fault(`the service sends the same ${what} again: the list would never end`);
  const assertNew = (what: string, value: string): void => {
    if (seen.has(`${what} ${value}`)) throw repeated(what);
    seen.add(`${what} ${value}`);
  };

  /** The token of the next page, from the body or from the header. */
  const nextToken = (response: ServiceResponse): string | undefined => {
    if (pagination !== 'token') return undefined;
    const token = valueAt(response.json(), 'NextToken') ?? '';
    if (typeof token !== 'string') throw fault('the token of the next page is no text');
    return token || response.headers.get('x-nomad-nexttoken') || undefined;
  };

  /** The page number of `links.next`, which must not lead to another origin. A link of another form may lead to more. */
  const linkedNumber = (document: unknown): number | undefined => {
    const link = valueAt(document, 'links', 'next') ?? '';
    if (typeof link !== 'string') throw fault('links.next is no text');
    if (link === '') return undefined;
    const next = URL.canParse(link, target.url) ? new URL(link, target.url) : undefined;
    if (next && next.origin !== new URL(target.url).origin) {
      throw fault(`links.next leads to another origin, ${next.origin}`);
    }
    const number = Number(next?.searchParams.get(PAGE_NUMBER));
    if (!isPageNumber(number)) throw fault('links.next has no page number');
    return number;
  };

  const nextNumber = (document: unknown): number | undefined => {
    const named = valueAt(document, ...PAGINATION, 'next-page');
    if (named === null) return undefined;
    if (named === undefined) return linkedNumber(document);
    const number = pageFigure(document, 'next-page');
    if (number !== undefined && number <= (pageFigure(document, 'current-page') ?? 0)) throw repeated(PAGE_NUMBER);
    if (number !== undefined && isPageNumber(number)) return number;
    throw fault(`the number of the next page is ${number ?? 'no number'}`);
  };

  const nextQuery = (response: ServiceResponse): QueryPairs | undefined => {
    const isNumbered = pagination === 'page';
    const next = isNumbered ? nextNumber(response.json()) : nextToken(response);
    return next === undefined ? undefined : [[isNumbered ? PAGE_NUMBER : 'next_token', String(next)]];
  };

  /** A service that refuses a larger page has to name the next page of a smaller one. */
  const assertNamesNextPage = async (size: number, fetchSized: (items: number) => Promise<ServiceResponse>) => {
    if (size > 1 && nextToken(await fetchSized(size - 1)) !== undefined) return;
    throw fault(`a page of ${size} items names no next page, and a larger one is refused: there may be more`);
  };

  /** A full page that names no next page is requested with a larger size, until it is not full. */
  const fetchByToken: FetchPage = async (query) => {
    const fetchSized = (items: number) => fetchPage([...query, ['per_page', String(items)]]);
    let response = await (grownSize === undefined ? fetchPage(query) : fetchSized(grownSize));
    let size = grownSize ?? ownSize;
    while (size !== undefined && itemsOf(response).length >= size && nextToken(response) === undefined) {
      const larger = size * GROWTH;
      if (larger > MAX_SIZE) throw fault(`a page of ${size} items names no next page`);
      const grown = await fetchSized(larger).catch(undefinedIfRefused);
      if (grown === undefined) {
        await assertNamesNextPage(size, fetchSized);
        return response;
      }
      size = larger;
      const count = itemsOf(response).length;
      if (itemsOf(grown).length > count) {
        grownSize = size;
        const counts = `a page of ${count} items names no next page, one of ${size} has more`;
        log.info(`${target.name}: ${name}: ${counts}; the smaller size is not used any more`);
      }
      response = grown;
    }
    return response;
  };

  /** Whether a page that names no next one says nevertheless that there are more: by the number of pages, or by its link. */
  const saysMore = (page: number, document: unknown): boolean =>
    (pageFigure(document, 'total-pages') ?? 0) > page || (linkedNumber(document) ?? 0) > page;

  /** Whether a numbered page says nothing of pages. The service may have a size of its own, so that its length proves nothing either. */
  const isUnpaged = (response: ServiceResponse): boolean => {
    if (sizeParam !== 'page[size]' || itemsOf(response).length === 0) return false;
    const document = response.json();
    return !isObject(valueAt(document, ...PAGINATION)) && valueAt(document, 'links', 'next') === undefined;
  };

  /**
   * The query of the numbered page that a page does not name: a full one without a total, one that says nothing of pages, or one that
   * contradicts itself; undefined when there is no such page.
   */
  const findUnnamedPage = async (query: QueryPairs, response: ServiceResponse): Promise<QueryPairs | undefined> => {
    if (!isWhole || sizeParam === undefined || ownSize === undefined) return undefined;
    const items = itemsOf(response);
    const page = Number(query[0]?.[1] ?? 1);
    if (items.length < ownSize && !isUnpaged(response) && !saysMore(page, response.json())) return undefined;
    const following: QueryPairs = [[PAGE_NUMBER, String(page + 1)]];
    const next = await fetchPage(following).catch(undefinedIfRefused);
    if (next === undefined || itemsOf(next).length === 0) return undefined;
    if (digest(itemsOf(next)) !== digest(items)) return following;
    // The service ignores page numbers. A larger page then has to have the same rows.
    const larger = await fetchPage([[sizeParam, String(ownSize * GROWTH)]]).catch(undefinedIfRefused);
    if (larger && digest(itemsOf(larger)) === digest(items)) return undefined;
    throw fault('a page names no next page, and page numbers are ignored: there may be more');
  };

  const fetch = pagination === 'token' ? fetchByToken : createPrefetch(fetchPage);
  const count = createPageCounter(readBounds(target), `the list of ${name}`);
  let [received, pages, reportedPages] = [0, 0, 0];
  let total: number | undefined;
  for (let query: QueryPairs | undefined = []; query !== undefined; ) {
    const response = await fetch(query);
    const items = itemsOf(response);
    count(items.length);
    if (items.length > 0 || query.length > 0) assertNew('page', digest(items));
    const reported = pageFigure(response.json(), 'total-count');
    yield Object.assign(response, { items, total: reported });
    received += items.length;
    total = reported ?? total;
    pages++;
    reportedPages = pageFigure(response.json(), 'total-pages') ?? reportedPages;
    const isProven = pagination !== 'page' || total !== undefined;
    query = nextQuery(response) ?? (isProven ? undefined : await findUnnamedPage(query, response));
    if (query !== undefined && !isProven && items.length === 0)
      throw fault('an empty page names a next one, and no total', IncompleteListError);
    for (const [param, value] of query ?? []) assertNew(param, value);
  }
  const [has, reported, unit] = total === undefined ? [pages, reportedPages, 'page'] : [received, total, 'row'];
  if (!isWhole || has >= reported) return;
  throw fault(`${plural(has, unit)} received, ${reported} reported`, IncompleteListError);
}

/** Requests numbered pages before their turn. Which page is next is still read from each page. */
function createPrefetch(fetchPage: FetchPage): FetchPage {
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
      lastPage = pageFigure(response.json(), 'total-pages') ?? 0;
      return response;
    }
    const page = Number(value);
    for (let number = page; number <= Math.min(page + PREFETCH_PAGES, lastPage); number++) void request(number);
    const response = await request(page);
    requested.delete(page);
    return response;
  };
}

/** A digest of the items' ids, which are unique in a namespace, or of their content when some have no id. */
function digest(items: readonly unknown[]): string {
  const ids = items.map((item) => (isObject(item) ? (item.id ?? item.ID) : item));
  const hasIds = ids.every((id) => typeof id === 'string');
  return digestJson(hasIds ? [ids, items.map((item) => textAt(item, 'Namespace'))] : items);
}

/** A number of `meta.pagination`; undefined where there is none. */
function pageFigure(document: unknown, name: string): number | undefined {
  return numberAt(document, ...PAGINATION, name) ?? undefined;
}

function isPageNumber(number: number): boolean {
  return Number.isInteger(number) && number > 0 && number < MAX_PAGE_NUMBER;
}

/** A service may limit the page size, and may have no page of a number. What something in front of it refuses, it may have. */
function undefinedIfRefused(error: unknown): undefined {
  const isRefused = error instanceof ServiceError && ['invalid', 'not-found'].includes(error.failure);
  if (!isRefused || error.details.isForeign === true) throw error;
}
