import { autoscaler } from '../../services/autoscaler.ts';
import { requiredArray, type SourceDefinition } from './source.ts';

/** The metrics of the autoscaler's last interval. */
export const autoscalerMetrics: SourceDefinition = {
  name: 'autoscaler_metrics',
  kind: 'autoscaler',
  operations: [autoscaler.metrics.read],
  async extract({ client, landing }) {
    const response = await client.call(autoscaler.metrics.read);
    requiredArray(response.json(), 'Gauges', 'autoscaler_metrics');
    await landing.writeJson({}, response.text);
  },
  checkAccess: (client) => client.call(autoscaler.metrics.read),
};
