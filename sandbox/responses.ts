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
