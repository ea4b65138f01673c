import { defineOperation, queryParam } from './operation.ts';

/** The 2 operations of the autoscaler agent, which takes no token. */

const read = { kind: 'autoscaler', method: 'GET', mutates: false, retryPolicy: 'read', reversible: true } as const;
const endpoints = 'scheduler-autoscaler-mesh.md, Endpoints, Autoscaler';

export const autoscaler = {
  health: {
    read: defineOperation({
      ...read,
      name: 'autoscaler.health.read',
      path: '/health',
      description: 'tells whether the agent is alive: 200, or 503, which is an answer too',
      params: {},
      responseType: 'health',
      permission: 'none',
      docsUrl: `${endpoints}: Health`,
    }),
  },
  metrics: {
    read: defineOperation({
      ...read,
      name: 'autoscaler.metrics.read',
      path: '/metrics',
      description: "reads the agent's own metrics",
      params: { format: queryParam('prometheus for the text format; JSON by default') },
      responseType: 'object',
      permission: 'none',
      docsUrl: `${endpoints}: Metrics`,
    }),
  },
} as const;
