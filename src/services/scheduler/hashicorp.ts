import { defineOperation, queryParam, type RequestDraft } from '../operation.ts';

/** Requests that differ in Nomad: docs/services/scheduler.md#real-product. */

/** Nomad creates snapshots at `/volumes/snapshot`, without the ID. */
export function toHashicorpSnapshotPath(draft: RequestDraft): RequestDraft {
  return { ...draft, path: '/volumes/snapshot' };
}

/** Nomad reads CSI secrets from a header. It would ignore the query parameter, which access logs would show. */
export function toHashicorpSecretsHeader(draft: RequestDraft): RequestDraft {
  const secrets = draft.query.find(([name]) => name === 'secrets')?.[1];
  if (secrets === undefined || secrets === '') return draft;
  return {
    ...draft,
    query: draft.query.filter(([name]) => name !== 'secrets'),
    headers: { ...draft.headers, 'X-Nomad-CSI-Secrets': secrets },
  };
}

/** Lists the storage plugins. Only the real product has it, so it is not one of the operations that `tidemark api` lists. */
export const listPlugins = defineOperation({
  kind: 'scheduler',
  name: 'scheduler.plugins.list',
  method: 'GET',
  path: '/plugins',
  description: 'lists the storage plugins',
  params: { type: queryParam('csi') },
  responseType: 'array',
  mutates: false,
  retryPolicy: 'safe',
  reversible: true,
  permission: 'none',
  hashicorpPermission: 'plugin:list',
  docsUrl: 'docs/services/scheduler.md#external-volumes',
});
