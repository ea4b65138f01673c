import { valueAt } from '../../core/json-path.ts';
import { catchFailure } from '../../http/errors.ts';
import { autoscaler } from '../../services/autoscaler.ts';
import { requiredArray, requiredString, type SourceDefinition } from './source.ts';

/**
 * Whether the autoscaler agent is alive; status 503 means that it is not (docs/services/autoscaler.md#health), and so does a host that
 * refuses the connection. Any other failure, such as a proxy that is down, says nothing about the agent.
 */
export const autoscalerHealth: SourceDefinition = {
  name: 'autoscaler_health',
  kind: 'autoscaler',
  operations: [autoscaler.health.read],
  async extract({ client, landing, asOf }) {
    const takeRefused = catchFailure(({ details }) => details.refusedPort !== undefined);
    const { status = null } = await client.call(autoscaler.health.read).catch(takeRefused); // a refused connection has none
    await landing.writeJson({ status, checked_at: asOf });
    landing.expectRows(1);
  },
  checkAccess: (client) => client.call(autoscaler.health.read),
};

/** An older agent does not have each of them. */
const LISTS = ['Gauges', 'PrecisionGauges', 'Counters', 'Samples', 'Points'];

/** The metrics of the autoscaler's last interval. */
export const autoscalerMetrics: SourceDefinition = {
  name: 'autoscaler_metrics',
  kind: 'autoscaler',
  operations: [autoscaler.metrics.read],
  async extract({ client, landing }) {
    const response = await client.call(autoscaler.metrics.read);
    const body = response.json();
    for (const list of LISTS.filter((name) => name === 'Gauges' || valueAt(body, name) !== undefined))
      for (const [row, item] of requiredArray(body, list, 'autoscaler_metrics').entries())
        requiredString(item, 'Name', list, row);
    await landing.writeJson({}, response.text);
  },
  checkAccess: (client) => client.call(autoscaler.metrics.read),
};
