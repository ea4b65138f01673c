import { aclPolicies } from './acl-policies.ts';
import { agentPools } from './agent-pools.ts';
import { agents } from './agents.ts';
import { autoscalerHealth } from './autoscaler-health.ts';
import { autoscalerMetrics } from './autoscaler-metrics.ts';
import { caRoots } from './ca-roots.ts';
import { explorerView } from './explorer/views.ts';
import { externalVolumes } from './external-volumes.ts';
import { keyDistributions } from './key-distributions.ts';
import { keys } from './keys.ts';
import { kmsProviders } from './kms-providers.ts';
import { leafCertificates } from './leaf-certificates.ts';
import { meshRoles } from './mesh-roles.ts';
import { savedViewRows } from './saved-view-rows.ts';
import { savedViews } from './saved-views.ts';
import type { SourceDefinition } from './source.ts';
import { tokens } from './tokens.ts';
import { volumeSnapshots } from './volume-snapshots.ts';
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
  keys,
  kmsProviders,
  keyDistributions,
  meshRoles,
  aclPolicies,
  volumes,
  externalVolumes,
  volumeSnapshots,
  autoscalerHealth,
  autoscalerMetrics,
  caRoots,
  leafCertificates,
  tokens,
];
