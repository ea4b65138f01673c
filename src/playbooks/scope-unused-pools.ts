import { z } from 'zod';
import { at, bodyOf, booleanAt, listAt, sameTexts, textAt } from './answers.ts';
import { simplePlaybook } from './playbook.ts';
import { step } from './step.ts';
import { changed, done, due } from './verdict.ts';

const facts = z.object({
  pool_id: z.string(),
  /** Attached ones. */
  workspace_ids: z.array(z.string()),
  allowed_workspace_ids: z.array(z.string()),
});

function ids(pool: unknown, relation: string): readonly string[] | null {
  const items = listAt(pool, 'data', 'relationships', relation, 'data');
  return items?.flatMap((item) => textAt(item, 'id') ?? []) ?? null;
}

const scope = step(facts, {
  operation: 'platform.agent-pools.update',
  params: { id: 'pool_id' },
  // The name is left out, which keeps it; the workspaces in the list are all that may use the pool from then on.
  body: ({ workspace_ids, allowed_workspace_ids }) => ({
    data: {
      type: 'agent-pools',
      attributes: { 'organization-scoped': false },
      relationships: {
        'allowed-workspaces': {
          data: [...new Set([...allowed_workspace_ids, ...workspace_ids])].map((id) => ({ id, type: 'workspaces' })),
        },
      },
    },
  }),
  reads: { pool: { operation: 'platform.agent-pools.show', params: { id: 'pool_id' } } },
  see: ({ pool }) => {
    const body = bodyOf(pool);
    return at(body, 'data') === undefined
      ? null
      : {
          organization_scoped: booleanAt(body, 'data', 'attributes', 'organization-scoped'),
          attached: ids(body, 'workspaces'),
          // Left out where nobody is named: it rules nothing while the whole organization may use the pool.
          allowed: ids(body, 'allowed-workspaces') ?? [],
        };
  },
  judge: (seen, { workspace_ids, allowed_workspace_ids }) => {
    if (seen === null) return changed('the pool is gone');
    if (!seen.attached) return changed('what is attached to it is not told');
    const { attached, allowed } = seen;
    if (seen.organization_scoped === false) {
      return attached.every((id) => allowed.includes(id))
        ? done('it is scoped already')
        : changed('it is scoped, and an attached workspace is not allowed to use it');
    }
    if (!sameTexts(attached, workspace_ids)) return changed('other workspaces are attached to it now');
    return sameTexts(allowed, allowed_workspace_ids) ? due : changed('other workspaces are allowed to use it now');
  },
});

export const scopeUnusedPools = simplePlaybook({
  name: 'scope-unused-pools',
  rule: 'unscoped-agent-pool',
  about: 'close agent pools of the whole organization to all but the few workspaces attached to them',
  table: 'agent_pools',
  detail: facts,
  step: scope,
  summary: ({ subject_name, detail }) =>
    `close agent pool ${subject_name ?? detail.pool_id} to all but ${detail.workspace_ids.length} workspace(s)`,
});
