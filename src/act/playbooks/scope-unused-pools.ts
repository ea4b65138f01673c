import { z } from 'zod';
import { booleanAt, hasSameMembers } from '../../core/json-path.ts';
import { plural } from '../../core/plural.ts';
import { defineAction, definePlaybook, drifted, type ReadResults, ready, satisfied, unknown } from '../define.ts';
import { explainOtherUsers, parsePoolUsers, readPool, relatedIds } from './lib/platform.ts';
import { responseBody } from './lib/reads.ts';
import { restoreFields } from './lib/undo.ts';

const inputs = z.object({
  pool_id: z.string(),
  /** The attached workspaces. */
  workspace_ids: z.array(z.string()),
  allowed_workspace_ids: z.array(z.string()),
});

const update = {
  operation: 'platform.agent-pools.update',
  params: { id: 'pool_id' },
  reads: { pool: readPool },
  observe: ({ pool }: ReadResults<'pool'>) => {
    if (!pool.found) return null;
    const body = responseBody(pool);
    const { workspaces: attached, others } = parsePoolUsers(body);
    const organizationScoped = booleanAt(body, 'data', 'attributes', 'organization-scoped');
    // Absent where empty: the list has no effect while the whole organization may use the pool.
    return {
      organization_scoped: organizationScoped,
      attached,
      allowed: relatedIds(body, 'allowed-workspaces') ?? [],
      others,
    };
  },
};

/** The name is left out, which keeps it. */
function buildPoolBody(isOrganizationScoped: boolean, allowed: readonly string[]) {
  return {
    data: {
      type: 'agent-pools',
      attributes: { 'organization-scoped': isOrganizationScoped },
      relationships: { 'allowed-workspaces': { data: allowed.map((id) => ({ id, type: 'workspaces' })) } },
    },
  };
}

/** The only workspaces that may use the pool afterwards. */
const listAllowed = ({ workspace_ids, allowed_workspace_ids }: z.infer<typeof inputs>): readonly string[] => [
  ...new Set([...allowed_workspace_ids, ...workspace_ids]),
];

const scope = defineAction(inputs, {
  ...update,
  body: (pool) => buildPoolBody(false, listAllowed(pool)),
  change: (pool) => ({
    before: { organization_scoped: true, allowed: pool.allowed_workspace_ids },
    after: { organization_scoped: false, allowed: listAllowed(pool) },
  }),
  evaluate: (observed, { workspace_ids, allowed_workspace_ids }) => {
    if (observed === null) return drifted('the pool is gone');
    const { organization_scoped, attached, allowed } = observed;
    if (organization_scoped === null) return unknown('its scope is not reported');
    if (!attached) return unknown('its attached workspaces are not reported');
    if (!organization_scoped) {
      return attached.every((id) => allowed.includes(id))
        ? satisfied('it is scoped')
        : drifted('it is scoped, and an attached workspace is not allowed to use it');
    }
    const use = explainOtherUsers(observed);
    if (use) return use;
    if (!hasSameMembers(attached, workspace_ids)) return drifted('other workspaces are attached to it now');
    return hasSameMembers(allowed, allowed_workspace_ids)
      ? ready
      : drifted('other workspaces are allowed to use it now');
  },
  undo: restoreFields(update, {
    names: z.object({ pool_id: z.string() }),
    subject: 'the pool',
    fields: z.looseObject({ organization_scoped: z.boolean(), allowed: z.array(z.string()) }),
    isLeft: (after: ReturnType<typeof update.observe>, planned: z.infer<typeof inputs>) =>
      after?.organization_scoped === false && hasSameMembers(after.allowed, listAllowed(planned)),
    body: ({ organization_scoped, allowed }) => buildPoolBody(organization_scoped, allowed),
    summary: ({ pool_id }) => `let all workspaces of the organization use agent pool ${pool_id} again`,
  }),
});

export const scopeUnusedPools = definePlaybook({
  name: 'scope-unused-pools',
  rule: 'unscoped-agent-pool',
  description: 'restrict organization-scoped agent pools to the few workspaces that are attached to them',
  table: 'agent_pools',
  detail: inputs,
  action: scope,
  summary: ({ subject_name, detail }) =>
    `restrict agent pool ${subject_name ?? detail.pool_id} to ${plural(detail.workspace_ids.length, 'attached workspace')}`,
});
