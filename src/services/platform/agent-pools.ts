import type { Target } from '../../config/config.ts';
import type { ArgIssue, Args } from '../operation.ts';

/** What a list of pools is sorted by, and what a pool can include: docs/services/platform.md#agent-pools. */
const SORTS = ['name', 'created-at'];
const INCLUDES = ['workspaces'];
const HASHICORP_INCLUDES = [...INCLUDES, 'stacks', 'hyok-configurations'];

export function validatePoolQuery({ sort, include }: Args, _body: unknown, { flavor }: Target): ArgIssue[] {
  const included = flavor === 'hashicorp' ? HASHICORP_INCLUDES : INCLUDES;
  const sorts = SORTS.flatMap((name) => [name, `-${name}`]);
  return [...findUnknown('sort', [sort].flat(), sorts), ...findUnknown('include', toNames(include), included)];
}

function toNames(include: unknown): readonly unknown[] {
  return include === undefined ? [] : String(include).split(',');
}

function findUnknown(path: string, values: readonly unknown[], known: readonly string[]): ArgIssue[] {
  const given = values.filter((value) => value !== undefined && value !== '').map(String);
  return given.every((value) => known.includes(value)) ? [] : [{ path, message: `must be one of ${known.join(', ')}` }];
}
