import { plural } from '../../../core/plural.ts';
import { NO_POOL_USE } from '../../../services/platform/pool-relationships.ts';
import { listAt, valueAt } from './json-path.ts';

/** What uses an agent pool beside its agents. */
export interface PoolUsers {
  /** IDs of the attached workspaces; null where they are not reported. */
  readonly workspaces: readonly string[] | null;
  /** Other relationships that use the pool, with the number of resources; null where the service does not report them. */
  readonly others: Readonly<Record<string, number | null>>;
}

const NO_USE = new RegExp(`^(?:${NO_POOL_USE})$`, 'u');

/** Reads every relationship of an agent pool. */
export function parsePoolUsers(pool: unknown): PoolUsers {
  const relationships = valueAt(pool, 'data', 'relationships');
  const names = typeof relationships === 'object' && relationships !== null ? Object.keys(relationships) : [];
  const others = names
    .filter((name) => !NO_USE.test(name))
    .map((name) => [name, countMembers(relationships, name)] as const)
    .filter(([, members]) => members !== 0);
  return { workspaces: relatedIds(pool, 'workspaces'), others: Object.fromEntries(others) };
}

/** The IDs that a relationship lists; null where the service does not report them. */
export function relatedIds(pool: unknown, relation: string): readonly string[] | null {
  return listAt(pool, 'data', 'relationships', relation, 'data')?.map((item) => String(valueAt(item, 'id'))) ?? null;
}

/** Why a pool has users beside its workspaces; undefined where it has none. */
export function explainOtherUsers({ others }: Pick<PoolUsers, 'others'>): string | undefined {
  const [first] = Object.entries(others);
  if (first === undefined) return undefined;
  const [name, members] = first;
  return members === null
    ? `its ${name} are not reported`
    : `its relationship ${name} names ${plural(members, 'resource')}`;
}

/** A relationship names a list of resources, one, or none (null). */
function countMembers(relationships: unknown, name: string): number | null {
  const data = valueAt(relationships, name, 'data');
  if (Array.isArray(data)) return data.length;
  if (data === null) return 0;
  return typeof data === 'object' ? 1 : null;
}
