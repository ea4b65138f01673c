import type { Ask, Reply } from '../types.ts';

export const MEDIA_TYPE = 'application/vnd.api+json; charset=utf-8';

/** Where an error comes from: a place in the body or a query parameter. */
export interface Source {
  readonly pointer?: string;
  readonly parameter?: string;
}

/** Thrown inside an operation, answered as a JSON:API error document. */
export class Refusal extends Error {
  readonly status: number;
  readonly source: Source | undefined;

  constructor(status: number, detail: string, source?: Source) {
    super(detail);
    this.status = status;
    this.source = source;
  }
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'bad request',
  401: 'unauthorized',
  404: 'not found',
  412: 'precondition failed',
  422: 'invalid attribute',
  429: 'Too many requests',
};

/**
 * An error document. A 404 has no detail and a 429 has a number for its status, as HCP Terraform sends them
 * (live-services.md A1); everything else has a string.
 */
export function errorReply(status: number, detail: string, source?: Source): Reply {
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
  return { status, headers: { 'content-type': MEDIA_TYPE }, body: JSON.stringify({ errors: [error] }) };
}

export const notFound = (): Refusal => new Refusal(404, '');

export const documentReply = (status: number, document: unknown): Reply => ({
  status,
  headers: { 'content-type': MEDIA_TYPE },
  body: JSON.stringify(document),
});

/** An operation that may refuse. */
export function answering(answer: (ask: Ask) => Reply): (ask: Ask) => Reply {
  return (ask) => {
    try {
      return answer(ask);
    } catch (error) {
      if (error instanceof Refusal) return errorReply(error.status, error.message, error.source);
      throw error;
    }
  };
}

export type Json = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The member `data` of a request's body. */
export function dataOf(body: string): Json {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    throw new Refusal(422, 'the body is not valid JSON', { pointer: '/' });
  }
  if (isObject(parsed) && isObject(parsed.data)) return parsed.data;
  throw new Refusal(422, 'the body has no object `data`', { pointer: '/data' });
}
