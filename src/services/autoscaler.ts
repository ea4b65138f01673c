import { defineOperations, queryParam } from './operation.ts';

/** Operations of the autoscaler agent, which takes no token. */

export const autoscaler = defineOperations('autoscaler', {
  health: {
    read: {
      path: '/health',
      description: 'reports whether the agent is alive: status 200 or 503',
      responseType: 'health',
    },
  },
  metrics: {
    read: {
      path: '/metrics',
      description: "reads the agent's own metrics",
      // Any other value is JSON in the real product, and not documented: docs/services/autoscaler.md#metrics.
      params: {
        format: { ...queryParam('`prometheus` for the text format; JSON by default'), values: ['prometheus'] },
      },
    },
  },
});
