import { plural } from '../../core/plural.ts';
import { listAt, valueAt } from './json-path.ts';

/** What uses an agent pool beside its agents. */
export interface PoolUsers {
  /** IDs of the attached workspaces; null where they are not reported. */
  readonly workspaces: readonly string[] | null;
  /** Other relationships that use the pool, with the number of resources; null where the service does not report them. */
  readonly others: Readonly<Record<string, number | null>>;
}

/** Relationships of the pool itself. */
const OWN = new Set(['workspaces', 'agents', 'authentication-tokens', 'organization']);
/** Who may use the pool. A permission is not a use. */
const PERMISSION = /^(allowed|excluded)-(workspaces|projects|stacks|modules)$/u;

/** Reads every relationship of an agent pool. One that Tidemark does not know uses the pool: docs/services/platform.md#agent-pools. */
export function parsePoolUsers(pool: unknown): PoolUsers {
  const relationships = valueAt(pool, 'data', 'relationships');
  const names = typeof relationships === 'object' && relationships !== null ? Object.keys(relationships) : [];
  const others = names
    .filter((name) => !OWN.has(name) && !PERMISSION.test(name))
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
