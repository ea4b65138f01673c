import { z } from 'zod';
import { bodyOf } from './answers.ts';
import { askedNamespace } from './namespace.ts';
import { playbook, skip } from './playbook.ts';
import { step } from './step.ts';
import { changed, done, due } from './verdict.ts';
import { claimsOf, hasEnded } from './volume-claims.ts';

const detail = z.object({ volume_id: z.string(), namespace: askedNamespace, nodes: z.array(z.string()) });
const facts = z.object({ volume_id: z.string(), namespace: askedNamespace, node_id: z.string() });

const detach = step(facts, {
  operation: 'scheduler.volumes.detach',
  params: { volume_id: 'volume_id', namespace: 'namespace', node: 'node_id' },
  reads: {
    volume: { operation: 'scheduler.volumes.read', params: { volume_id: 'volume_id', namespace: 'namespace' } },
  },
  see: ({ volume }) => (volume.found ? { claims: claimsOf(bodyOf(volume)) } : null),
  judge: (seen, { node_id }) => {
    if (seen === null) return done('the volume is gone, and its claims with it');
    if (seen.claims === null) return changed('its claims are not told');
    if (!seen.claims.some((claim) => claim.node_id === node_id || claim.node_id === null)) {
      return done('nothing on the node claims it');
    }
    const standing = seen.claims.find((claim) => !hasEnded(claim));
    if (standing === undefined) return due;
    return changed(
      `allocation ${standing.allocation_id}, which is ${standing.client_status ?? 'not known'}, claims it`,
    );
  },
});

export const detachLostClaims = playbook({
  name: 'detach-lost-claims',
  rule: 'lost-volume-claim',
  about: 'detach volumes from the nodes where only allocations that ended claim them',
  table: 'volumes',
  steps: [detach],
  detail,
  plan: ({ subject_name, detail: { volume_id, namespace, nodes } }) =>
    nodes.length === 0
      ? skip('the nodes of the claims are not told')
      : nodes.map((node_id) => ({
          step: detach,
          facts: { volume_id, namespace, node_id },
          summary: `detach volume ${subject_name ?? volume_id} from node ${node_id}`,
        })),
});
