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
 */
export class PageReader {
  readonly #list: ListRequest;
  readonly #fetchPage: FetchPage;
  readonly #sizeParam: 'per_page' | 'page[size]' | undefined;
  /** Undefined when the service chooses the size. */
  readonly #size: number | undefined;
  /** The size in use, once the original one proved to hide items. */
  #grownSize: number | undefined;
  /** Whether reading begins with the first page. */
  readonly #isWhole: boolean;
  readonly #seen = new Set<string>();

  constructor(list: ListRequest, fetchPage: FetchPage) {
    const { operation, args } = list;
    this.#list = list;
    this.#fetchPage = fetchPage;
    this.#sizeParam = (['per_page', 'page[size]'] as const).find((name) => operation.params[name] !== undefined);
    const size = Number(args[this.#sizeParam ?? ''] ?? (this.#sizeParam === 'page[size]' ? DEFAULT_ROWS : 0));
    this.#size = Number.isInteger(size) && size > 0 ? size : undefined;
    this.#isWhole = !args[PAGE_NUMBER] && !args.next_token;
  }

  /** @throws ServiceError `malformed` when a page, its number or its token repeats: the list would never end; IncompleteListError */
  async *read(): AsyncGenerator<ResponsePage> {
    const { name, pagination } = this.#list.operation;
    const fetch: FetchPage =
      pagination === 'token' ? (query) => this.#fetchByToken(query) : createPrefetch(this.#fetchPage);
    const count = createPageCounter(readBounds(this.#list.target), `the list of ${name}`);
    let received = 0;
    let total: number | undefined;
    let pages = 0;
    let reportedPages = 0;
    for (let query: QueryPairs | undefined = []; query !== undefined; ) {
      const response = await fetch(query);
      const items = this.#items(response);
      count(items.length);
      if (items.length > 0 || query.length > 0) this.#assertNew('page', digest(items));
      const reported = pageFigure(response.json(), 'total-count');
      yield Object.assign(response, { items, total: reported });
      received += items.length;
      total = reported ?? total;
      pages++;
      reportedPages = pageFigure(response.json(), 'total-pages') ?? reportedPages;
      const isProven = pagination !== 'page' || total !== undefined;
      query = this.#nextQuery(response) ?? (isProven ? undefined : await this.#findUnnamedPage(query, response));
      if (query !== undefined && !isProven && items.length === 0)
        throw this.#fault('an empty page names a next one, and no total', IncompleteListError);
      for (const [param, value] of query ?? []) this.#assertNew(param, value);
    }
    const has = total === undefined ? pages : received;
    const reported = total ?? reportedPages;
    if (!this.#isWhole || has >= reported) return;
    const counted = plural(has, total === undefined ? 'page' : 'row');
    throw this.#fault(`${counted} received, ${reported} reported`, IncompleteListError);
  }

  #assertNew(what: string, value: string): void {
    if (this.#seen.has(`${what} ${value}`)) throw this.#repeated(what);
    this.#seen.add(`${what} ${value}`);
  }

  #repeated(what: string): ServiceError {
    return this.#fault(`the service sends the same ${what} again: the list would never end`);
  }

  #fault(serviceMessage: string, Fault = ServiceError): ServiceError {
    return new Fault({
      failure: 'malformed',
      operation: this.#list.operation.name,
      target: this.#list.target.name,
      serviceMessage,
      hint: 'try again; if the error persists, the service is faulty',
    });
  }

  #nextQuery(response: ServiceResponse): QueryPairs | undefined {
    const isNumbered = this.#list.operation.pagination === 'page';
    const next = isNumbered ? this.#nextNumber(response.json()) : this.#nextToken(response);
    return next === undefined ? undefined : [[isNumbered ? PAGE_NUMBER : 'next_token', String(next)]];
  }

  /** The token of the next page, from the body or from the header. */
  #nextToken(response: ServiceResponse): string | undefined {
    if (this.#list.operation.pagination !== 'token') return undefined;
    const token = valueAt(response.json(), 'NextToken') ?? '';
    if (typeof token !== 'string') throw this.#fault('the token of the next page is no text');
    return token || response.headers.get('x-nomad-nexttoken') || undefined;
  }

  #nextNumber(document: unknown): number | undefined {
    const named = valueAt(document, ...PAGINATION, 'next-page');
    if (named === null) return undefined;
    if (named === undefined) return this.#linkedNumber(document);
    const number = pageFigure(document, 'next-page');
    if (number !== undefined && number <= (pageFigure(document, 'current-page') ?? 0))
      throw this.#repeated(PAGE_NUMBER);
    if (number === undefined || !isPageNumber(number)) {
      throw this.#fault(`the number of the next page is ${number ?? 'no number'}`);
    }
    return number;
  }

  /** The page number of `links.next`, which must not lead to another origin. A link of another form may lead to more. */
  #linkedNumber(document: unknown): number | undefined {
    const { url } = this.#list.target;
    const link = valueAt(document, 'links', 'next') ?? '';
    if (typeof link !== 'string') throw this.#fault('links.next is no text');
    if (link === '') return undefined;
    const next = URL.canParse(link, url) ? new URL(link, url) : undefined;
    if (next && next.origin !== new URL(url).origin) {
      throw this.#fault(`links.next leads to another origin, ${next.origin}`);
    }
    const number = Number(next?.searchParams.get(PAGE_NUMBER));
    if (!isPageNumber(number)) throw this.#fault('links.next has no page number');
    return number;
  }

  #items(response: ServiceResponse): readonly unknown[] {
    return listItems(this.#list.operation, response);
  }

  /** A full page that names no next page is requested with a larger size, until it is not full. */
  async #fetchByToken(query: QueryPairs): Promise<ServiceResponse> {
    const fetchSized = (items: number) => this.#fetchPage([...query, ['per_page', String(items)]]);
    let response = await (this.#grownSize === undefined ? this.#fetchPage(query) : fetchSized(this.#grownSize));
    let size = this.#grownSize ?? this.#size;
    while (size !== undefined && this.#items(response).length >= size && this.#nextToken(response) === undefined) {
      const larger = size * GROWTH;
      if (larger > MAX_SIZE) throw this.#fault(`a page of ${size} items names no next page`);
      const grown = await fetchSized(larger).catch(undefinedIfRefused);
      if (grown === undefined) {
        await this.#assertNamesNextPage(size, fetchSized);
        return response;
      }
      size = larger;
      const count = this.#items(response).length;
      if (this.#items(grown).length > count) {
        this.#grownSize = size;
        const counts = `a page of ${count} items names no next page, one of ${size} has more`;
        const where = `${this.#list.target.name}: ${this.#list.operation.name}`;
        this.#list.log.info(`${where}: ${counts}; the smaller size is not used any more`);
      }
      response = grown;
    }
    return response;
  }

  /** A service that refuses a larger page has to name the next page of a smaller one. */
  async #assertNamesNextPage(size: number, fetchSized: (items: number) => Promise<ServiceResponse>): Promise<void> {
    if (size > 1 && this.#nextToken(await fetchSized(size - 1)) !== undefined) return;
    const problem = `a page of ${size} items names no next page, and a larger one is refused`;
    throw this.#fault(`${problem}: there may be more`);
  }

  /**
   * The query of the numbered page that a page does not name: a full one without a total, one that says nothing of pages, or one that
   * contradicts itself.
   * @param query of the page
   * @returns undefined when there is no such page
   */
  async #findUnnamedPage(query: QueryPairs, response: ServiceResponse): Promise<QueryPairs | undefined> {
    const [param, size] = [this.#sizeParam, this.#size];
    if (!this.#isWhole || param === undefined || size === undefined) return undefined;
    const items = this.#items(response);
    const page = Number(query[0]?.[1] ?? 1);
    if (items.length < size && !this.#isUnpaged(response) && !this.#saysMore(page, response.json())) return undefined;
    const nextQuery: QueryPairs = [[PAGE_NUMBER, String(page + 1)]];
    const next = await this.#fetchPage(nextQuery).catch(undefinedIfRefused);
    if (next === undefined || this.#items(next).length === 0) return undefined;
    if (digest(this.#items(next)) !== digest(items)) return nextQuery;
    // The service ignores page numbers. A larger page then has to have the same rows.
    const larger = await this.#fetchPage([[param, String(size * GROWTH)]]).catch(undefinedIfRefused);
    if (larger && digest(this.#items(larger)) === digest(items)) return undefined;
    throw this.#fault('a page names no next page, and page numbers are ignored: there may be more');
  }

  /** Whether a page that names no next one says nevertheless that there are more: by the number of pages, or by its link. */
  #saysMore(page: number, document: unknown): boolean {
    const last = pageFigure(document, 'total-pages') ?? 0;
    return last > page || (this.#linkedNumber(document) ?? 0) > page;
  }

  /** Whether a numbered page says nothing of pages. The service may have a size of its own, so that its length proves nothing either. */
  #isUnpaged(response: ServiceResponse): boolean {
    if (this.#sizeParam !== 'page[size]' || this.#items(response).length === 0) return false;
    const document = response.json();
    return !isObject(valueAt(document, ...PAGINATION)) && valueAt(document, 'links', 'next') === undefined;
  }
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
