import { parse, parseNumberAndBigInt, stringify } from 'lossless-json';
import type { Ask, Reply } from '../types.ts';
import type { SchedulerWorld } from './state.ts';

export type Body = Readonly<Record<string, unknown>>;

/** Errors are plain text there (live-services.md C1). */
export function text(status: number, message: string): Reply {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: message };
}

function indexHeaders({ flavor, state }: SchedulerWorld): Record<string, string> {
  if (flavor === 'documents') return {};
  return { 'x-nomad-index': String(state.index), 'x-nomad-lastcontact': '0', 'x-nomad-knownleader': 'true' };
}

/** JSON text in which bigints are written digit for digit. */
export function json(world: SchedulerWorld, body: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  const all = { 'content-type': 'application/json', ...indexHeaders(world), ...headers };
  return { status: 200, headers: all, body: stringify(body)! };
}

export function empty(world: SchedulerWorld): Reply {
  return { status: 200, headers: indexHeaders(world) };
}

function parseBody(body: string): Body | string {
  try {
    const parsed = parse(body, null, parseNumberAndBigInt);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Body) : 'body is not an object';
  } catch (error) {
    return error instanceof Error ? error.message : 'body is not JSON';
  }
}

/** A route's answer that needs a JSON object as body. */
export function withBody(reply: (body: Body, ask: Ask) => Reply): (ask: Ask) => Reply {
  return (ask) => {
    const body = parseBody(ask.body);
    return typeof body === 'string' ? text(400, body) : reply(body, ask);
  };
}

/** The objects of a list field such as `Volumes`. */
export function itemsIn(body: Body, field: string): Body[] {
  const value = body[field];
  if (!Array.isArray(value)) return [];
  return value.filter((item): item is Body => typeof item === 'object' && item !== null);
}

export function textIn(body: Body, field: string): string {
  const value = body[field];
  return typeof value === 'string' ? value : '';
}

export function bytesIn(body: Body, field: string): bigint {
  const value = body[field];
  return typeof value === 'number' || typeof value === 'bigint' ? BigInt(value) : 0n;
}

/** Strings by name; anything else counts as none. */
export function mapIn(body: Body, field: string): Record<string, string> {
  const value = body[field];
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, String(entry)]));
}

const WAIT = /^(\d+(\.\d+)?(ns|us|ms|s|m|h))+$/;

/** What a blocking query must not say wrongly (live-services.md C1); the sandbox itself answers at once. */
export function queryRefusal({ query }: Ask): Reply | undefined {
  const wait = query.get('wait');
  if (wait !== null && !WAIT.test(wait)) return text(400, 'Invalid wait time');
  const index = query.get('index');
  if (index !== null && !/^\d+$/.test(index)) return text(400, 'Invalid index');
  return undefined;
}
