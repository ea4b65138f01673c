import { z } from 'zod';
import { defineAction, definePlaybook, drifted, ready, satisfied, skip, unknown } from '../define.ts';
import * as csi from './lib/csi.ts';
import { responseBody } from './lib/reads.ts';

const volume = z.object({ volume_id: z.string(), namespace: csi.requestedNamespace });

const ENDED = ['complete', 'failed', 'lost'];

const detach = defineAction(volume.extend({ node_id: z.string() }), {
  operation: 'scheduler.volumes.detach',
  params: { volume_id: 'volume_id', namespace: 'namespace', node: 'node_id' },
  change: ({ node_id }) => ({ before: { claimed_on: [node_id] }, after: { claimed_on: [] } }),
  reads: { volume: csi.readVolume },
  observe: ({ volume }) => (volume.found ? { claims: csi.parseClaims(responseBody(volume)) } : null),
  evaluate: (observed, { node_id }) => {
    if (observed === null) return satisfied('the volume is gone, and its claims with it');
    if (observed.claims === null) return unknown('its claims are not reported');
    if (!observed.claims.some((claim) => claim.node_id === node_id || claim.node_id === null)) {
      return satisfied('nothing on the node claims it');
    }
    const live = observed.claims.find(({ client_status }) => !ENDED.includes(client_status ?? ''));
    if (live === undefined) return ready;
    return drifted(`allocation ${live.allocation_id}, whose status is ${live.client_status ?? 'unknown'}, claims it`);
  },
  // The node is down, or the allocation was garbage-collected: docs/services/scheduler.md#volumes.
  refusals: [
    {
      message: /Unknown allocation/iu,
      advice:
        'the scheduler cannot detach a volume whose allocation or node is gone; let it collect the ended allocation' +
        ' (`nomad system gc`), or deregister the volume with `force=true` and register it again',
    },
  ],
});

export const detachLostClaims = definePlaybook({
  name: 'detach-lost-claims',
  rule: 'lost-volume-claim',
  description: 'detach volumes from nodes where only finished allocations claim them',
  table: 'volumes',
  actions: [detach],
  detail: volume.extend({ nodes: z.array(z.string()) }),
  plan: ({ subject_name, detail: { volume_id, namespace, nodes } }) => {
    if (nodes.length === 0) return skip('the nodes of the claims are not reported');
    return nodes.map((nodeId) => {
      const summary = `detach volume ${subject_name ?? volume_id} from node ${nodeId}`;
      return { action: detach, inputs: { volume_id, namespace, node_id: nodeId }, summary };
    });
  },
});
