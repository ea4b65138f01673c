import { autoscaler } from '../services/autoscaler.ts';
import type { SourceDefinition } from './source.ts';

/** Whether the autoscaler agent is alive; status 503 means that it is not (docs/services/autoscaler.md#health). */
export const autoscalerHealth: SourceDefinition = {
  name: 'autoscaler_health',
  kind: 'autoscaler',
  operations: [autoscaler.health.read],
  async extract({ client, landing, asOf }) {
    const { status } = await client.call(autoscaler.health.read);
    await landing.writeJson({ status, checked_at: asOf });
    landing.expectRows(1);
  },
  checkAccess: (client) => client.call(autoscaler.health.read),
};
