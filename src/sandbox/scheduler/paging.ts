import type { Ask, Flavor, Reply } from '../types.ts';
import { text } from './reply.ts';

export interface Page<T> {
  readonly items: readonly T[];
  /** Empty on the last page. */
  readonly nextToken: string;
}

/** Opaque, and full of characters that a client must escape in a query. */
const tokenAfter = (id: string): string => Buffer.from(`after:${id}?>`).toString('base64');
const idIn = (token: string): string => Buffer.from(token, 'base64').toString().slice('after:'.length, -'?>'.length);

/** The document requires `per_page`; Nomad does not, and takes 0 for all (live-services.md C3). */
function perPageOf({ query }: Ask, flavor: Flavor): number | undefined {
  const value = query.get('per_page');
  if (value === null) return flavor === 'documents' ? undefined : 0;
  if (!/^\d+$/.test(value)) return undefined;
  return flavor === 'documents' && Number(value) === 0 ? undefined : Number(value);
}

/** One page of things in the order of their ids, from the id after the token's on: what vanishes meanwhile moves nothing. */
export function pageOf<T extends { readonly id: string }>(ask: Ask, flavor: Flavor, all: Iterable<T>): Page<T> | Reply {
  const perPage = perPageOf(ask, flavor);
  if (perPage === undefined) return text(400, 'Expect a number for `per_page` query string parameter');
  const token = ask.query.get('next_token') ?? '';
  const after = token === '' ? '' : idIn(token);
  if (token !== '' && tokenAfter(after) !== token) return text(500, 'rpc error: starting token is invalid');
  const rest = [...all].filter(({ id }) => id > after).sort((a, b) => (a.id < b.id ? -1 : 1));
  const items = perPage === 0 ? rest : rest.slice(0, perPage);
  const last = items.at(-1);
  return { items, nextToken: last && items.length < rest.length ? tokenAfter(last.id) : '' };
}
