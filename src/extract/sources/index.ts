import type { Target } from '../../config/config.ts';
import { scheduler } from '../../services/scheduler/operations.ts';
import { secrets } from '../../services/secrets/operations.ts';
import { aclPolicies } from './acl-policies.ts';
import { agentPools, agents } from './agents.ts';
import { autoscalerHealth, autoscalerMetrics } from './autoscaler.ts';
import { caRoots } from './ca-roots.ts';
import { explorerView } from './explorer/views.ts';
import { keyDistributions } from './key-distributions.ts';
import { leafCertificates } from './leaf-certificates.ts';
import { meshRoles } from './mesh-roles.ts';
import { registryReleases } from './registry-releases.ts';
import { savedViewRows, savedViews } from './saved-views.ts';
import { servers } from './servers.ts';
import { namedSource } from './shared/list-and-read.ts';
import { pluginSource } from './shared/plugins.ts';
import { fitsTarget, hasSource, isWanted, type SourceDefinition } from './source.ts';
import { tokens } from './tokens.ts';
import { volumes } from './volumes.ts';

/** The built-in sources. `queries/tables/*.sql` declare which tables a source fills. */
export const sources: readonly SourceDefinition[] = [
  explorerView('workspaces'),
  explorerView('tf_versions'),
  explorerView('providers'),
  explorerView('modules'),
  savedViews,
  savedViewRows,
  agentPools,
  agents,
  namedSource('keys', secrets.keys),
  namedSource('kms_providers', secrets.kms),
  keyDistributions,
  meshRoles,
  aclPolicies,
  volumes,
  pluginSource('external_volumes', scheduler['external-volumes'].list),
  pluginSource('volume_snapshots', scheduler.snapshots.list),
  autoscalerHealth,
  autoscalerMetrics,
  caRoots,
  leafCertificates,
  tokens,
  registryReleases,
  servers,
];

/** The sources that the configuration leaves out. */
export interface LeftOut {
  /** Built-in sources that no target has. */
  readonly sources: ReadonlySet<string>;
  /** What single targets leave out by `sources` or `without`. */
  readonly pairs: readonly { readonly target: string; readonly source: string }[];
}

export function findLeftOut(targets: readonly Target[]): LeftOut {
  const absent = sources.filter((source) => !targets.some((target) => isWanted(target, source)));
  const pairs = listPairs(targets, (target, source) => fitsTarget(source, target) && !isWanted(target, source));
  return { sources: new Set(absent.map(({ name }) => name)), pairs };
}

/** The sources that the configuration wants and that the service of their target cannot answer: what they tell is unknown. */
export function findUnanswered(targets: readonly Target[]): LeftOut['pairs'] {
  return listPairs(targets, (target, source) => isWanted(target, source) && !hasSource(target, source));
}

function listPairs(targets: readonly Target[], matches: (target: Target, source: SourceDefinition) => boolean) {
  return targets.flatMap((target) =>
    sources.filter((source) => matches(target, source)).map(({ name }) => ({ target: target.name, source: name })),
  );
}

/** What is known of the support of versions: what is made from it says so as it names its sources, but no target tells it. */
export const FACTS = 'lifecycle';

/** Whether all of these sources are left out, so that what is made from them is not shown. */
export function isAbsent(sources: readonly string[], leftOut: LeftOut | undefined): boolean {
  const told = sources.filter((source) => source !== FACTS);
  return leftOut !== undefined && told.length > 0 && told.every((source) => leftOut.sources.has(source));
}
