import { parse, parseNumberAndBigInt } from 'lossless-json';
import type { Random } from '../random.ts';
import { addHidden, HttpError, jsonResponse, parseObject } from '../router.ts';
import { TokenStore } from '../tokens.ts';
import type { EstateName, Flavor, Request, Response, ServiceOptions } from '../types.ts';
import type { Allocation, Policy, SchedulerEstate, StoragePlugin, VolumeRecord } from './records.ts';

/** The records of a scheduler, and what its endpoints share. Tests read and damage them. */
export class SchedulerContext {
  readonly seed: number;
  readonly estate: EstateName;
  readonly flavor: Flavor;
  readonly nodes: readonly string[];
  readonly policies = new Map<string, Policy>();
  readonly plugins = new Map<string, StoragePlugin>();
  /** By `volumeKey`. */
  readonly volumes = new Map<string, VolumeRecord>();
  readonly allocations = new Map<string, Allocation>();
  /** Whether detaching works with the flavor of the real products, which refuse it: docs/services/scheduler.md. */
  canDetach = false;
  declare readonly tokens: TokenStore;
  /** The index of the last deletion in each table. */
  declare readonly deletedAt: { policies: number; volumes: number };
  /** The last Raft index. It is part of the state, and has no setter: a restored state does not set it back. */
  declare index: number;
  #index = 100;

  constructor({ seed, estate, flavor, ...options }: ServiceOptions, nodes: readonly string[]) {
    this.seed = seed;
    this.estate = estate;
    this.flavor = flavor;
    this.nodes = nodes;
    const tokens = new TokenStore('scheduler', { seed, ...options }, ['x-nomad-token']);
    addHidden(this, { tokens, deletedAt: { policies: 1, volumes: 1 } });
    Object.defineProperty(this, 'index', { enumerable: true, get: () => this.#index });
  }

  nextIndex(): number {
    this.#index += 1;
    return this.#index;
  }

  json(body: unknown, headers: Readonly<Record<string, string>> = {}): Response {
    return jsonResponse(body, { ...this.indexHeaders(), ...headers });
  }

  /** A list of a storage plugin: its position is not the scheduler's. */
  pluginList(body: Readonly<Record<string, unknown>>): Response {
    if (this.flavor === 'spec') return this.json(body);
    const headers = { 'x-nomad-index': '0', 'x-nomad-lastcontact': '0', 'x-nomad-knownleader': 'false' };
    return this.json({ Index: 0, KnownLeader: false, LastContact: 0, NextToken: '', ...body }, headers);
  }

  /** 200 without a body. */
  empty(): Response {
    return { status: 200, headers: this.indexHeaders() };
  }

  /** The index of a table: of its last change, or of its last deletion. */
  tableHeaders(records: Iterable<{ readonly modifyIndex: number }>, deletedAt: number): Record<string, string> {
    if (this.flavor === 'spec') return {};
    const index = [...records].reduce((highest, { modifyIndex }) => Math.max(highest, modifyIndex), deletedAt);
    return { 'x-nomad-index': String(index) };
  }

  indexHeaders(): Record<string, string> {
    if (this.flavor === 'spec') return {};
    return { 'x-nomad-index': String(this.index), 'x-nomad-lastcontact': '0', 'x-nomad-knownleader': 'true' };
  }
}

export interface Tick {
  readonly context: SchedulerContext;
  readonly estate: SchedulerEstate;
  readonly day: number;
  readonly now: Date;
  readonly random: Random;
}

/** A token that is not of type management sees its own policies only. */
export function seesPolicy(context: SchedulerContext, request: Request, name: string): boolean {
  const token = context.tokens.find(request);
  return token !== undefined && (token.scope !== 'rules' || token.policies.includes(name));
}

export type Body = Readonly<Record<string, unknown>>;

/** The JSON object in a request's body. @throws HttpError 400 */
export function parseBody({ body }: Request): Body {
  const refuse = (reason: string) => new HttpError(400, reason);
  return parseObject(body, refuse, (text) => parse(text, null, parseNumberAndBigInt));
}

/** @throws HttpError 400 for a field that would not be kept */
export function refuseUnknownFields(body: Body, known: readonly string[]): void {
  const unknown = Object.keys(body).find((field) => !known.includes(field));
  if (unknown !== undefined) throw new HttpError(400, `unknown field ${unknown}`);
}

/** The objects of a list field such as `Volumes`. */
export function objectsField(body: Body, field: string): Body[] {
  const value = body[field];
  if (!Array.isArray(value)) return [];
  return value.filter((item): item is Body => typeof item === 'object' && item !== null);
}

export function stringField(body: Body, field: string): string {
  const value = body[field];
  return typeof value === 'string' ? value : '';
}

export function bytesField(body: Body, field: string): bigint {
  const value = body[field];
  return typeof value === 'number' || typeof value === 'bigint' ? BigInt(value) : 0n;
}

/** Strings by name; anything else is an empty map. */
export function mapField(body: Body, field: string): Record<string, string> {
  const value = body[field];
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, String(entry)]));
}

export function requestNamespace({ query }: Request): string {
  return query.get('namespace') ?? 'default';
}

const WAIT = /^(\d+(\.\d+)?(ns|us|ms|s|m|h))+$/;

/** Checks the parameters of a blocking query; the sandbox itself responds at once. @throws HttpError 400 */
export function checkBlockingQuery({ query }: Request): void {
  const wait = query.get('wait');
  if (wait !== null && !WAIT.test(wait)) throw new HttpError(400, 'Invalid wait time');
  const index = query.get('index');
  if (index !== null && !/^\d+$/.test(index)) throw new HttpError(400, 'Invalid index');
  // A client would take the whole list, in another order, for what it asked for.
  for (const name of ['filter', 'reverse']) {
    if (query.has(name)) throw new HttpError(400, `the sandbox does not support the parameter ${name}`);
  }
}

/**
 * One page of records in the order of their ids, from the id after the token's on, so that deletions between two pages
 * shift nothing: docs/services/scheduler.md#pagination. On the last page the token is empty. @throws HttpError 400, 500
 */
export function paginate<T extends { readonly id: string }>(request: Request, flavor: Flavor, records: Iterable<T>) {
  const perPage = parsePerPage(request, flavor);
  const token = request.query.get('next_token') ?? '';
  const after = token === '' ? '' : parseToken(token);
  const rest = [...records].filter(({ id }) => id > after);
  const { items, next } = cut(rest, ({ id }) => id, perPage);
  return { items, nextToken: next ? createToken(items.at(-1)!.id) : '' };
}

/** The first records in the order of a key, and the one after them; all for 0. */
function cut<T>(records: readonly T[], keyOf: (record: T) => string, perPage: number) {
  const sorted = [...records].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const items = perPage === 0 ? sorted : sorted.slice(0, perPage);
  return { items, next: sorted[items.length] };
}

/**
 * One page of records in the order of a key. The token is the key of the first record of the next page, as in Nomad's own
 * lists. @throws HttpError 400
 */
export function paginateByKey<T>(request: Request, records: Iterable<T>, keyOf: (record: T) => string) {
  const perPage = parsePerPage(request, 'hashicorp');
  const sent = request.query.get('next_token') ?? '';
  const token = sent.startsWith('~') ? Buffer.from(sent.slice(1), 'base64').toString() : sent;
  const rest = [...records].filter((record) => keyOf(record) >= token);
  const { items, next } = cut(rest, keyOf, perPage);
  const key = next === undefined ? '' : keyOf(next);
  // A header carries ASCII only.
  return { items, nextToken: /^[ -~]*$/.test(key) ? key : `~${Buffer.from(key).toString('base64')}` };
}

/** The specification requires `per_page`; Nomad does not, and accepts 0 for all. */
function parsePerPage({ query }: Request, flavor: Flavor): number {
  const value = query.get('per_page') ?? (flavor === 'spec' ? '' : '0');
  if (/^\d+$/.test(value) && (flavor === 'hashicorp' || Number(value) > 0)) return Number(value);
  throw new HttpError(400, 'Expect a number for `per_page` query string parameter');
}

/** Opaque, and full of characters that a client must escape in a query. */
function createToken(id: string): string {
  return Buffer.from(`after:${id}?>`).toString('base64');
}

function parseToken(token: string): string {
  const id = Buffer.from(token, 'base64').toString().slice('after:'.length, -'?>'.length);
  if (createToken(id) !== token) throw new HttpError(500, 'rpc error: starting token is invalid');
  return id;
}
