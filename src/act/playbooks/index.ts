import type { Playbook } from '../define.ts';
import { adoptOrphanedVolumes } from './adopt-orphaned-volumes.ts';
import { deregisterMissingVolumes } from './deregister-missing-volumes.ts';
import { detachLostClaims } from './detach-lost-claims.ts';
import { downgradeManagementRoles } from './downgrade-management-roles.ts';
import { dropDeadViews } from './drop-dead-views.ts';
import { dropStaleSnapshots } from './drop-stale-snapshots.ts';
import { pinDriftView } from './pin-drift-view.ts';
import { reapDeadAgents } from './reap-dead-agents.ts';
import { removeEmptyPools } from './remove-empty-pools.ts';
import { removeEmptyProviders } from './remove-empty-providers.ts';
import { removeRetiredKeys } from './remove-retired-keys.ts';
import { retireOldKeyVersions } from './retire-old-key-versions.ts';
import { rotateOldKeys } from './rotate-old-keys.ts';
import { scopeUnusedPools } from './scope-unused-pools.ts';
import { snapshotUnprotectedVolumes } from './snapshot-unprotected-volumes.ts';
import { trimAnonymousPolicy } from './trim-anonymous-policy.ts';

/** The playbooks of the package, one line each, in the order of `tidemark playbook list`. */
export const builtInPlaybooks: readonly Playbook[] = [
  reapDeadAgents,
  removeEmptyPools,
  scopeUnusedPools,
  pinDriftView,
  dropDeadViews,
  rotateOldKeys,
  retireOldKeyVersions,
  removeRetiredKeys,
  removeEmptyProviders,
  downgradeManagementRoles,
  trimAnonymousPolicy,
  detachLostClaims,
  deregisterMissingVolumes,
  adoptOrphanedVolumes,
  snapshotUnprotectedVolumes,
  dropStaleSnapshots,
];
