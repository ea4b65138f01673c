import type { Flavor } from '../types.ts';
import { isObject, type Json, Refusal } from './json-api.ts';
import type { PlatformState, Pool } from './state.ts';

export interface PoolWish {
  readonly name?: string;
  readonly organizationScoped?: boolean;
  readonly allowed?: string[];
}

const refuse = (detail: string, pointer: string): Refusal => new Refusal(422, detail, { pointer });

function nameIn(attributes: Json, state: PlatformState, pool: Pool | undefined): string | undefined {
  const pointer = '/data/attributes/name';
  const { name } = attributes;
  if (name === undefined && pool) return undefined;
  if (typeof name !== 'string' || name === '') throw refuse("Name can't be blank", pointer);
  if (!/^[A-Za-z0-9_-]+$/.test(name)) throw refuse('Name can only include letters, numbers, -, and _', pointer);
  if (state.pools.some((other) => other !== pool && other.name === name)) {
    throw refuse('Name has already been taken', pointer);
  }
  return name;
}

function scopeIn(attributes: Json, pool: Pool | undefined, flavor: Flavor): boolean | undefined {
  const scoped = attributes['organization-scoped'];
  if (typeof scoped === 'boolean') return scoped;
  if (scoped !== undefined) throw refuse('must be true or false', '/data/attributes/organization-scoped');
  // The documents' default on update is true; the real service keeps what was (live-services.md A3).
  return pool && flavor === 'hashicorp' ? undefined : true;
}

function allowedIn(data: Json, state: PlatformState): string[] | undefined {
  const pointer = '/data/relationships/allowed-workspaces/data';
  if (data.relationships === undefined) return undefined;
  if (!isObject(data.relationships)) throw refuse('must be an object', '/data/relationships');
  const relation = data.relationships['allowed-workspaces'];
  if (relation === undefined) return undefined;
  if (!isObject(relation) || !Array.isArray(relation.data)) throw refuse('must be a list', pointer);
  const known = new Set(state.workspaces.map(({ id }) => id));
  return relation.data.map((item: unknown, index) => {
    if (!isObject(item) || item.type !== 'workspaces') throw refuse('type must be workspaces', `${pointer}/${index}`);
    if (typeof item.id !== 'string' || !known.has(item.id)) throw refuse('no such workspace', `${pointer}/${index}/id`);
    return item.id;
  });
}

/** Reads the body of create (no `pool` yet) or update by the rules of platform.md; refuses with 422. */
export function poolWish(data: Json, state: PlatformState, pool: Pool | undefined, flavor: Flavor): PoolWish {
  if (data.type !== 'agent-pools') throw refuse('type must be agent-pools', '/data/type');
  if (data.attributes !== undefined && !isObject(data.attributes))
    throw refuse('must be an object', '/data/attributes');
  if (data.attributes === undefined && !pool) throw refuse('attributes are missing', '/data/attributes');
  const attributes = isObject(data.attributes) ? data.attributes : {};
  const name = nameIn(attributes, state, pool);
  const organizationScoped = scopeIn(attributes, pool, flavor);
  const allowed = allowedIn(data, state);
  return {
    ...(name === undefined ? {} : { name }),
    ...(organizationScoped === undefined ? {} : { organizationScoped }),
    ...(allowed === undefined ? {} : { allowed }),
  };
}
