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
import { hasSource, isWanted, type SourceDefinition } from './source.ts';
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

/** Built-in sources that no target has, because the configuration leaves them out. */
export type LeftOut = ReadonlySet<string>;

export function findLeftOut(targets: readonly Target[]): LeftOut {
  const absent = sources.filter((source) => !targets.some((target) => isWanted(target, source)));
  return new Set(absent.map(({ name }) => name));
}

/** The built-in sources that a target does not have, because of its kind or of the configuration. */
export function findUnwanted(target: Target): readonly string[] {
  return sources.filter((source) => !isWanted(target, source)).map(({ name }) => name);
}

/** The sources that the configuration wants and that the service of their target cannot answer: what they tell is unknown. */
export function findUnanswered(targets: readonly Target[]) {
  return targets.flatMap((target) => {
    const unanswered = sources.filter((source) => isWanted(target, source) && !hasSource(target, source));
    return unanswered.map(({ name }) => ({ target: target.name, source: name }));
  });
}

/** What is known of the support of versions: what is made from it says so as it names its sources, but no target tells it. */
export const FACTS = 'lifecycle';

/** Whether all of these sources are left out, so that what is made from them is not shown. */
export function isAbsent(sources: readonly string[], leftOut: LeftOut | undefined): boolean {
  const told = sources.filter((source) => source !== FACTS);
  return leftOut !== undefined && told.length > 0 && told.every((source) => leftOut.has(source));
}
