import { createHash } from 'node:crypto';
import type { Target } from '../config/config.ts';
import { canonicalJson } from '../core/canonical-json.ts';
import { TidemarkError } from '../core/errors.ts';
import { isObject } from '../core/is-object.ts';
import { plural } from '../core/plural.ts';
import { ServiceError } from '../http/errors.ts';
import type { Args, Operation, QueryPairs } from './operation.ts';
import { listItems, type ServiceResponse } from './response.ts';

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
  const text = canonicalJson(ids.every((id) => typeof id === 'string') ? ids : items);
  return createHash('sha256').update(text).digest('base64');
}

export function malformedError({ operation, target }: PagedList, serviceMessage: string): ServiceError {
  return new ServiceError({ ...describe(operation, target), serviceMessage });
}

/** The list has another number of rows than the service reports: it may have changed while its pages were read. */
export class IncompleteListError extends ServiceError {}

export function incompleteError({ operation, target }: PagedList, received: number, total: number) {
  return new IncompleteListError({
    ...describe(operation, target),
    serviceMessage: `${plural(received, 'row')} received, ${total} reported`,
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

/** What a list, and the extraction of a source, may take. */
export interface Bounds {
  readonly maxPages: number;
  readonly maxItems: number;
  readonly maxBytes: number;
  readonly maxSeconds: number;
}

/** Generous: a list of five million workspaces has 50,000 pages. */
const DEFAULT_BOUNDS: Bounds = {
  maxPages: 100_000,
  maxItems: 20_000_000,
  maxBytes: 64 * 1024 ** 3,
  maxSeconds: 6 * 3600,
};

/** The bounds of a target. */
export function readBounds({ limits }: Pick<Target, 'limits'>): Bounds {
  const { maxPages, maxItems, maxBytes, maxSeconds } = DEFAULT_BOUNDS;
  return {
    maxPages: limits.maxPages ?? maxPages,
    maxItems: limits.maxItems ?? maxItems,
    maxBytes: limits.maxBytes ?? maxBytes,
    maxSeconds: limits.maxSeconds ?? maxSeconds,
  };
}

/** A bound of the configuration was reached. Another attempt would reach it again. */
export class BoundExceededError extends TidemarkError {
  /** @param key the key of the configuration, such as `limits.maxPages` */
  constructor(what: string, key: string) {
    super('DATA', `${what} (${key})`, {
      hint: `raise \`${key}\` if the service really has so much; otherwise the service is faulty`,
    });
    this.name = 'BoundExceededError';
  }
}

/** Counts pages and items. @throws BoundExceededError from `count` */
export class PageCounter {
  readonly #bounds: Bounds;
  readonly #subject: string;
  #pages = 0;
  #items = 0;

  /** @param subject what is counted, for the message */
  constructor(bounds: Bounds, subject: string) {
    this.#bounds = bounds;
    this.#subject = subject;
  }

  count(items: number): void {
    const { maxPages, maxItems } = this.#bounds;
    this.#pages++;
    this.#items += items;
    if (this.#pages > maxPages) {
      throw new BoundExceededError(`${this.#subject} has more than ${plural(maxPages, 'page')}`, 'limits.maxPages');
    }
    if (this.#items > maxItems) {
      throw new BoundExceededError(`${this.#subject} has more than ${plural(maxItems, 'item')}`, 'limits.maxItems');
    }
  }
}
