import type { z } from 'zod';
import { HttpError, isObject } from '../router.ts';
import type { ErrorSource, Request, Response } from '../types.ts';

const MEDIA_TYPE = 'application/vnd.api+json; charset=utf-8';

export type JsonObject = Readonly<Record<string, unknown>>;

const TITLES: Readonly<Record<number, string>> = {
  400: 'bad request',
  401: 'unauthorized',
  404: 'not found',
  412: 'precondition failed',
  422: 'invalid attribute',
  429: 'Too many requests',
};

/**
 * An error document: docs/services/platform.md#errors. As HCP Terraform sends them, a 404 has no detail, and a 429 has
 * a number as its status where all others have a string.
 */
export function errorDocument(status: number, detail: string, source?: ErrorSource): Response {
  const title = TITLES[status] ?? 'error';
  const error =
    status === 429
      ? { detail, status, title }
      : {
          status: String(status),
          title,
          ...(detail === '' || detail === title ? {} : { detail }),
          ...(source ? { source } : {}),
        };
  return documentResponse(status, { errors: [error] });
}

/** The members of a list's document beside `data` and its envelope, for the records of the page. */
interface ListOptions<T> {
  readonly members?: (records: readonly T[]) => JsonObject;
  /** Added to `meta` and to `meta.pagination`. */
  readonly meta?: JsonObject;
  readonly pagination?: JsonObject;
}

/** The page of a list that the request names. */
export function listResponse<T>(
  request: Request,
  records: readonly T[],
  toDocument: (record: T) => JsonObject,
  { members = () => ({}), meta, pagination }: ListOptions<T> = {},
): Response {
  const { number, size } = parsePage(request);
  const rows = records.slice((number - 1) * size, number * size);
  const last = Math.max(1, Math.ceil(records.length / size));
  const prev = number > 1 ? number - 1 : null;
  const next = number < last ? number + 1 : null;
  const link = (page: number): string => {
    const query = new URLSearchParams(request.query);
    query.set('page[number]', String(page));
    query.set('page[size]', String(size));
    return `${request.origin}${request.path}?${query}`;
  };
  return documentResponse(200, {
    data: rows.map(toDocument),
    ...members(rows),
    links: {
      self: link(number),
      first: link(1),
      prev: prev === null ? null : link(prev),
      next: next === null ? null : link(next),
      last: link(last),
    },
    meta: {
      pagination: {
        'current-page': number,
        ...pagination,
        'prev-page': prev,
        'next-page': next,
        'total-pages': last,
        'total-count': records.length,
      },
      ...meta,
    },
  });
}

/** By the value of `sort`: what a list is sorted by. */
export type SortKeys<T> = ReadonlyMap<string, (record: T) => string | number>;

/** In the order that `sort` names, descending with `-`. @throws HttpError 400 */
export function sortRecords<T>({ query }: Request, records: T[], keys: SortKeys<T>): T[] {
  const sort = query.get('sort');
  if (sort === null) return records;
  const value = keys.get(sort.replace(/^-/, ''));
  if (!value) throw badParameter(`sort must be ${[...keys.keys()].join(' or ')}`, 'sort');
  const direction = sort.startsWith('-') ? -1 : 1;
  return records.sort((a, b) => (value(a) === value(b) ? 0 : value(a) < value(b) ? -direction : direction));
}

export function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}

export function documentResponse(status: number, document: unknown): Response {
  return { status, headers: { 'content-type': MEDIA_TYPE }, body: JSON.stringify(document) };
}

export function notFound(): HttpError {
  return new HttpError(404, '');
}

/** 422 for the member of the body at `pointer`. */
export function invalid(detail: string, pointer: string): HttpError {
  return new HttpError(422, detail, { pointer });
}

/** 400 for a query parameter. */
export function badParameter(detail: string, parameter: string): HttpError {
  return new HttpError(400, detail, { parameter });
}

/**
 * Refuses a filter, an order or a search that the list would ignore: a client would take the whole list for what it
 * asked for. @throws HttpError 400
 */
export function refuseUnknownParameters({ query }: Request, known: readonly string[]): void {
  const unknown = [...query.keys()].find(
    (name) => !known.includes(name) && /^(filter|sort|q$|search|include)/.test(name),
  );
  if (unknown !== undefined) throw badParameter(`${unknown} is not a parameter of this list`, unknown);
}

/** A member of a request's body. @throws HttpError 422 for the first place that the schema refuses */
export function parseMember<T>(schema: z.ZodType<T>, value: unknown, pointer: string): T {
  const { data, error } = schema.safeParse(value);
  const [issue] = error?.issues ?? [];
  if (issue) throw invalid(issue.message, [pointer, ...issue.path].join('/'));
  return data as T;
}

/** The record with the ID in the path. @throws HttpError 404 */
export function findRecord<T extends { readonly id: string }>(records: readonly T[], { params }: Request): T {
  const record = records.find(({ id }) => id === params.id);
  if (!record) throw notFound();
  return record;
}

/** The member `data` of a request's body. */
export function parseData({ body }: Request): JsonObject {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    throw invalid('the body is not valid JSON', '/');
  }
  if (isObject(parsed) && isObject(parsed.data)) return parsed.data;
  throw invalid('the body has no object `data`', '/data');
}

const DEFAULT_PAGE_SIZE = 20;
/** HCP Terraform's limit; a greater size is cut to it: docs/services/platform.md#pagination. */
const MAX_PAGE_SIZE = 100;

export function parsePage(request: Request) {
  return {
    number: positiveInteger(request, 'page[number]', 1),
    size: Math.min(MAX_PAGE_SIZE, positiveInteger(request, 'page[size]', DEFAULT_PAGE_SIZE)),
  };
}

function positiveInteger({ query }: Request, parameter: string, fallback: number): number {
  const text = query.get(parameter);
  if (text === null) return fallback;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw badParameter(`${parameter} must be a positive whole number`, parameter);
}
