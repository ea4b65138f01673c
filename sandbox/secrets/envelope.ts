import { createRandom, uuid } from '../random.ts';
import { HttpError, parseObject } from '../router.ts';
import type { Request, Response } from '../types.ts';

export type Input = Readonly<Record<string, unknown>>;

const HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store' };

export const NO_CONTENT: Response = { status: 204, headers: HEADERS };

export function jsonResponse(status: number, body: unknown): Response {
  return { status, headers: HEADERS, body: `${JSON.stringify(body)}\n` };
}

export function errorResponse(status: number, ...errors: readonly string[]): Response {
  return jsonResponse(status, { errors });
}

/** The response for an object that does not exist, and for an empty list: docs/services/secrets.md#listing. */
export const NOT_FOUND: Response = errorResponse(404);

/** 400, the status of every invalid request: docs/services/secrets.md#errors. */
export function badRequest(message: string): HttpError {
  return new HttpError(400, message);
}

interface Lease {
  readonly id: string;
  readonly seconds: number;
}

/** The envelope around every response with content: docs/services/secrets.md#conventions. */
export function dataResponse(request: Request, data: unknown, lease?: Lease): Response {
  return jsonResponse(200, wrap(request, data, lease));
}

/** For some endpoints Vault writes the data at the top level, too. */
export function flatDataResponse(request: Request, data: Readonly<Record<string, unknown>>): Response {
  return jsonResponse(200, { ...data, ...wrap(request, data) });
}

function wrap(request: Request, data: unknown, lease?: Lease) {
  const random = createRandom(`${request.method} ${request.path} ${request.now.getTime()} ${lease?.id ?? ''}`);
  return {
    request_id: uuid(random),
    lease_id: lease?.id ?? '',
    renewable: lease !== undefined,
    lease_duration: lease?.seconds ?? 0,
    data,
    wrap_info: null,
    warnings: null,
    auth: null,
  };
}

export function listResponse(request: Request, names: Iterable<string>): Response {
  const keys = [...names].sort();
  return keys.length === 0 ? NOT_FOUND : dataResponse(request, { keys });
}

/**
 * The JSON object in a request's body; no body is an empty object. Vault ignores what it does not know, with a warning. Here it is
 * an error, so that a test sees it. @throws HttpError 400
 */
export function parseInput({ body }: Request, known?: readonly string[]): Input {
  const input = body.trim() === '' ? {} : parseObject(body, () => badRequest('failed to parse JSON input'));
  const unknown = known && Object.keys(input).find((field) => !known.includes(field));
  if (unknown !== undefined) throw badRequest(`unknown field "${unknown}"`);
  return input;
}

/** A string that is not empty. */
export function filledField(body: Input, field: string): string | undefined {
  const value = body[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A list of strings, or one string with commas: docs/services/secrets.md#conventions. */
export function listField(body: Input, field: string): string[] {
  const value = body[field];
  const parts = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value.map(String) : [];
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/** A map of strings, or a list of `name=value`. */
export function toPairs(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {};
  const pairs = Array.isArray(value) ? value.map((pair) => String(pair).split(/=(.*)/s)) : Object.entries(value);
  return Object.fromEntries(pairs.map(([name = '', text = '']) => [name, String(text)]));
}
