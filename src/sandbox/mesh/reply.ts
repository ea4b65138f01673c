import { stringify } from 'lossless-json';
import type { Ask, Flavor, Reply } from '../types.ts';
import type { MeshState } from './state.ts';

export interface MeshWorld {
  readonly seed: number;
  readonly flavor: Flavor;
  readonly state: MeshState;
}

export function text(status: number, message: string): Reply {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: message };
}

export function json(body: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status: 200, headers: { 'content-type': 'application/json', ...headers }, body: stringify(body)! };
}

/** Body field, else `ns`, else the header, else `default` (mesh rule 2; the sandbox's tokens are of no namespace). */
export function namespaceOf({ query, headers }: Ask, inBody?: unknown): string {
  const named = [inBody, query.get('ns'), headers['x-mesh-namespace']];
  return named.find((name): name is string => typeof name === 'string' && name !== '') ?? 'default';
}
