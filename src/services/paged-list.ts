import { createHash } from 'node:crypto';
import type { Target } from '../config/config.ts';
import { ServiceError } from '../http/errors.ts';
import type { Args, Operation, QueryPairs } from './operation.ts';
import { isObject, listItems, type ServiceResponse } from './response.ts';

/** Fetches one page. The query replaces arguments of the same name. */
export type FetchPage = (pageQuery: QueryPairs) => Promise<ServiceResponse>;

/** A parameter that sets the number of items per page, and the number in use. */
export interface PageSize {
  readonly param: 'per_page' | 'page[size]';
  readonly items: number;
}

/** A list that is read page by page. */
export interface PagedList {
  readonly operation: Operation;
  readonly target: Target;
  /** Undefined when the service chooses the size. */
  readonly size: PageSize | undefined;
  /** Whether reading begins with the first page. */
  readonly isWhole: boolean;
}

export const PAGE_NUMBER = 'page[number]';

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
  const isWhole = !args[PAGE_NUMBER] && !args.next_token;
  return { operation, target, size: readPageSize(operation, args), isWhole };
}

function readPageSize({ params }: Operation, args: Args): PageSize | undefined {
  if (params.per_page !== undefined) return toPageSize('per_page', args.per_page);
  if (params['page[size]'] !== undefined) return toPageSize('page[size]', args['page[size]'] ?? DEFAULT_ROWS);
  return undefined;
}

function toPageSize(param: PageSize['param'], value: unknown): PageSize | undefined {
  const items = Number(value);
  return Number.isInteger(items) && items > 0 ? { param, items } : undefined;
}

/** The token of the next page, from the body or from the header. */
export function nextToken(response: ServiceResponse): string | undefined {
  const value = response.json();
  const inBody = isObject(value) ? value.NextToken : undefined;
  return (typeof inBody === 'string' ? inBody : '') || response.headers.get('x-nomad-nexttoken') || undefined;
}

/** A digest of the items' ids, or of their content when some have no id. */
export function digestItems(operation: Operation, response: ServiceResponse): string {
  const items = listItems(operation, response);
  const ids = items.map((item) => (isObject(item) ? (item.id ?? item.ID) : item));
  const text = ids.every((id) => typeof id === 'string') ? JSON.stringify(ids) : stringifyItems(items);
  return createHash('sha256').update(text).digest('base64');
}

function stringifyItems(items: readonly unknown[]): string {
  return JSON.stringify(items, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

export function malformedError({ operation, target }: PagedList, serviceMessage: string): ServiceError {
  return new ServiceError({ ...describe(operation, target), serviceMessage });
}

/** The list has another number of rows than the service reports: it may have changed while its pages were read. */
export class IncompleteListError extends ServiceError {}

export function incompleteError({ operation, target }: PagedList, received: number, total: number) {
  return new IncompleteListError({
    ...describe(operation, target),
    serviceMessage: `${received} rows received, ${total} reported`,
  });
}

function describe({ name }: Operation, target: Target) {
  return {
    failure: 'malformed',
    operation: name,
    target: target.name,
    hint: 'try again; if the error persists, the service is faulty',
  } as const;
}
