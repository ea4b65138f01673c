import { autoscaler } from '../services/autoscaler.ts';
import { listIn, type Source } from './source.ts';

/** The autoscaler's own metrics, of its last interval. */
export const autoscalerMetrics: Source = {
  name: 'autoscaler_metrics',
  kind: 'autoscaler',
  probe: (service) => service.call(autoscaler.metrics.read),
  async extract({ service, land, options }) {
    const answer = await service.call(autoscaler.metrics.read, {}, options);
    listIn(answer.json(), 'Gauges', 'autoscaler_metrics');
    await land.line({}, answer.text);
  },
};
