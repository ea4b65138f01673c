import { autoscaler } from '../services/autoscaler.ts';
import type { Source } from './source.ts';

/** 503 is an answer: the agent says that it is not alive (scheduler-autoscaler-mesh.md, "Autoscaler"). */
export const autoscalerHealth: Source = {
  name: 'autoscaler_health',
  kind: 'autoscaler',
  probe: (service) => service.call(autoscaler.health.read),
  async extract({ service, land, options, asOf }) {
    const { status } = await service.call(autoscaler.health.read, {}, options);
    await land.line({ status, checked_at: asOf });
    land.expect(1);
  },
};
