import { autoscaler } from '../services/autoscaler.ts';
import { requiredArray, type SourceDefinition } from './source.ts';

/** The autoscaler's own metrics, of its last interval. */
export const autoscalerMetrics: SourceDefinition = {
  name: 'autoscaler_metrics',
  kind: 'autoscaler',
  checkAccess: (service) => service.call(autoscaler.metrics.read),
  async extract({ client, landing, requestOptions }) {
    const answer = await client.call(autoscaler.metrics.read, {}, requestOptions);
    requiredArray(answer.json(), 'Gauges', 'autoscaler_metrics');
    await landing.writeJson({}, answer.text);
  },
};
