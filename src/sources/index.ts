import { agentPools, agents } from './agents.ts';
import { autoscalerHealth, autoscalerMetrics } from './autoscaler.ts';
import { explorerView } from './explorer.ts';
import { caRoots, leafCertificates } from './mesh.ts';
import { savedViewRows, savedViews } from './saved-views.ts';
import { aclPolicies, externalVolumes, volumeSnapshots, volumes } from './scheduler.ts';
import { keyDistributions, keys, kmsProviders, meshRoles } from './secrets.ts';
import type { Source } from './source.ts';

/** Every source, one line each; what a source fills stands in `queries/tables/*.sql`. */
export const sources: readonly Source[] = [
  explorerView('workspaces', 'external_id'),
  explorerView('tf_versions', 'version'),
  explorerView('providers', 'name'),
  explorerView('modules', 'name'),
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
];
