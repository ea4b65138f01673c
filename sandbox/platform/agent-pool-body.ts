import { isObject } from '../responses.ts';
import type { Flavor } from '../types.ts';
import type { AgentPoolRecord, PlatformContext, Reference } from './context.ts';
import { invalid, type JsonObject } from './json-api.ts';
import type { Workspace } from './workspaces.ts';

/** The relationships of HCP Terraform beside `workspaces` and `allowed-workspaces`, with the type of their resources. */
export const RELATED: Readonly<Record<string, string>> = {
  'allowed-projects': 'projects',
  'excluded-workspaces': 'workspaces',
  'hyok-configurations': 'hyok-configurations',
  stacks: 'stacks',
  'allowed-stacks': 'stacks',
  'excluded-stacks': 'stacks',
  'allowed-modules': 'registry-modules',
  'excluded-modules': 'registry-modules',
};

const ATTRIBUTES = ['name', 'organization-scoped'];
const RELATIONSHIPS = '/data/relationships';

/** The fields of a create or update body that are present. */
export type PoolFields = Partial<Pick<AgentPoolRecord, 'name' | 'organizationScoped' | 'allowed' | 'related'>>;

/** The body of create (no `pool` yet) or update. A member that the service would not keep is refused. @throws HttpError 422 */
export function parsePoolBody(
  data: JsonObject,
  pool: AgentPoolRecord | undefined,
  context: PlatformContext,
): PoolFields {
  if (data.type !== 'agent-pools') throw invalid('type must be agent-pools', '/data/type');
  if (data.attributes !== undefined && !isObject(data.attributes)) {
    throw invalid('must be an object', '/data/attributes');
  }
  if (data.attributes === undefined && !pool) throw invalid('attributes are missing', '/data/attributes');
  const attributes = isObject(data.attributes) ? data.attributes : {};
  refuseUnknown(attributes, ATTRIBUTES, '/data/attributes');
  const relationships = parseRelationships(data, context);
  const name = parseName(attributes, pool, context.pools);
  const organizationScoped = parseScope(attributes, pool, context.flavor);
  const allowed = parseAllowed(relationships, context.workspaces);
  const related = context.flavor === 'hashicorp' ? parseRelated(relationships, pool) : undefined;
  return {
    ...(name === undefined ? {} : { name }),
    ...(organizationScoped === undefined ? {} : { organizationScoped }),
    ...(allowed === undefined ? {} : { allowed }),
    ...(related === undefined ? {} : { related }),
  };
}

/** @throws HttpError 422 for a member that the service does not know */
export function refuseUnknown(object: JsonObject, known: readonly string[], pointer: string): void {
  const unknown = Object.keys(object).find((name) => !known.includes(name));
  if (unknown !== undefined) throw invalid(`${unknown} is not a member that is kept`, `${pointer}/${unknown}`);
}

function parseRelationships({ relationships = {} }: JsonObject, { flavor, organization }: PlatformContext): JsonObject {
  if (!isObject(relationships)) throw invalid('must be an object', RELATIONSHIPS);
  const extra = flavor === 'hashicorp' ? ['organization', ...Object.keys(RELATED)] : [];
  refuseUnknown(relationships, ['allowed-workspaces', ...extra], RELATIONSHIPS);
  const owner = relationships.organization;
  const id = isObject(owner) && isObject(owner.data) ? owner.data.id : organization;
  if (id !== organization) throw invalid('belongs to another organization', `${RELATIONSHIPS}/organization`);
  return relationships;
}

function parseName(
  { name }: JsonObject,
  pool: AgentPoolRecord | undefined,
  pools: readonly AgentPoolRecord[],
): string | undefined {
  const pointer = '/data/attributes/name';
  if (name === undefined && pool) return undefined;
  if (typeof name !== 'string' || name === '') throw invalid("Name can't be blank", pointer);
  if (!/^[A-Za-z0-9_-]+$/.test(name)) throw invalid('Name can only include letters, numbers, -, and _', pointer);
  if (pools.some((other) => other !== pool && other.name === name)) {
    throw invalid('Name has already been taken', pointer);
  }
  return name;
}

function parseScope(attributes: JsonObject, pool: AgentPoolRecord | undefined, flavor: Flavor): boolean | undefined {
  const isScoped = attributes['organization-scoped'];
  if (typeof isScoped === 'boolean') return isScoped;
  if (isScoped !== undefined) throw invalid('must be true or false', '/data/attributes/organization-scoped');
  // The specified default on update is true; the real product keeps the old value.
  return pool && flavor === 'hashicorp' ? undefined : true;
}

function parseAllowed(relationships: JsonObject, workspaces: readonly Workspace[]): string[] | undefined {
  const name = 'allowed-workspaces';
  if (relationships[name] === undefined) return undefined;
  const ids = new Set(workspaces.map(({ id }) => id));
  return parseReferences(relationships, name, 'workspaces').map(({ id }, index) => {
    if (ids.has(id)) return id;
    throw invalid('no such workspace', `${RELATIONSHIPS}/${name}/data/${index}/id`);
  });
}

/** What the body does not mention stays. */
function parseRelated(relationships: JsonObject, pool: AgentPoolRecord | undefined): AgentPoolRecord['related'] {
  const sent = Object.entries(RELATED).filter(([name]) => relationships[name] !== undefined);
  const parsed = sent.map(([name, type]) => [name, parseReferences(relationships, name, type)] as const);
  return { ...pool?.related, ...Object.fromEntries(parsed) };
}

function parseReferences(relationships: JsonObject, name: string, type: string): Reference[] {
  const pointer = `${RELATIONSHIPS}/${name}/data`;
  const relation = relationships[name];
  if (!isObject(relation) || !Array.isArray(relation.data)) throw invalid('must be a list', pointer);
  return relation.data.map((item: unknown, index) => {
    if (!isObject(item) || item.type !== type) throw invalid(`type must be ${type}`, `${pointer}/${index}`);
    if (typeof item.id !== 'string') throw invalid(`no such ${type.replace(/s$/, '')}`, `${pointer}/${index}/id`);
    return { id: item.id, type };
  });
}
