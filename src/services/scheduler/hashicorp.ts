import type { RequestDraft } from '../operation.ts';

/** Where Nomad differs from scheduler-autoscaler-mesh.md (live-services.md C3): the one place that knows its forms. */

/** Snapshots are created at `/volumes/snapshot`, without the id. */
export function toHashicorpSnapshotPath(draft: RequestDraft): RequestDraft {
  return { ...draft, path: '/volumes/snapshot' };
}

/** CSI secrets go in a header; the query value would be ignored, and written to access logs on the way. */
export function toHashicorpSecretsHeader(draft: RequestDraft): RequestDraft {
  const secrets = draft.query.find(([name]) => name === 'secrets')?.[1];
  if (secrets === undefined || secrets === '') return draft;
  return {
    ...draft,
    query: draft.query.filter(([name]) => name !== 'secrets'),
    headers: { ...draft.headers, 'X-Nomad-CSI-Secrets': secrets },
  };
}
