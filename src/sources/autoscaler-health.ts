import { autoscaler } from '../services/autoscaler.ts';
import type { SourceDefinition } from './source.ts';

/** 503 is an answer: the agent says that it is not alive (scheduler-autoscaler-mesh.md, "Autoscaler"). */
export const autoscalerHealth: SourceDefinition = {
  name: 'autoscaler_health',
  kind: 'autoscaler',
  checkAccess: (service) => service.call(autoscaler.health.read),
  async extract({ client, landing, requestOptions, asOf }) {
    const { status } = await client.call(autoscaler.health.read, {}, requestOptions);
    await landing.writeJson({ status, checked_at: asOf });
    landing.expectRows(1);
  },
};
