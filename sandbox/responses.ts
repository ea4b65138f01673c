import { stringify } from 'lossless-json';
import type { ErrorSource, Response } from './types.ts';

/** Thrown by a handler; the router responds with the service's own form of an error. */
export class HttpError extends Error {
  readonly status: number;
  readonly source: ErrorSource | undefined;

  constructor(status: number, message: string, source?: ErrorSource) {
    super(message);
    this.status = status;
    this.source = source;
  }
}

export function textResponse(status: number, message: string): Response {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: message };
}

/** JSON text in which bigints are written digit for digit. */
export function jsonResponse(body: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  return { status: 200, headers: { 'content-type': 'application/json', ...headers }, body: stringify(body)! };
}

/** The object that a body is. `refuse` makes the service's own error of the reason. @throws HttpError */
export function parseObject(
  text: string,
  refuse: (reason: string) => HttpError,
  parse: (text: string) => unknown = JSON.parse,
): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : 'body is not JSON');
  }
  if (isObject(value)) return value;
  throw refuse('body is not an object');
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
