import type { RequestDraft } from '../operation.ts';

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
