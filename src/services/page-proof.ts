import type { Log } from '../core/log.ts';
import { ServiceError } from '../http/errors.ts';
import type { QueryPairs } from './operation.ts';
import {
  digestItems,
  type FetchPage,
  malformedError,
  nextToken,
  PAGE_NUMBER,
  type PagedList,
  type PageSize,
} from './paged-list.ts';
import { listItems, type ServiceResponse } from './response.ts';

/**
 * A page that is exactly full and names no next page proves nothing: some storage drivers honour the page size and never name a next
 * page (docs/services/scheduler.md#pagination). The functions here find out whether there are more items.
 */

const GROWTH = 10;
const MAX_SIZE = 1_000_000;

/** Fetches pages by token. A full one that names no next page is requested with a larger size, until it is not full. */
export function createTokenPages(list: PagedList, fetchPage: FetchPage, log: Log): FetchPage {
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

/**
 * The query of the numbered page that a full page without a total does not name.
 * @param pageQuery the query of the full page
 * @returns undefined when there is no such page
 */
export async function findUnnamedPage(
  list: PagedList,
  pageQuery: QueryPairs,
  response: ServiceResponse,
  fetchPage: FetchPage,
): Promise<QueryPairs | undefined> {
  const { operation } = list;
  if (!list.isWhole || !isFull(list, response, list.size)) return undefined;
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
  const problem = `a page of ${items} rows names no next page, and page numbers are ignored`;
  throw malformedError(list, `${problem}: there may be more`);
}

/** A service may limit the page size, and may have no page of a number. */
function undefinedIfRefused(error: unknown): undefined {
  if (error instanceof ServiceError && ['invalid', 'not-found'].includes(error.failure)) return undefined;
  throw error;
}
