import { defineOperation, queryParam } from './operation.ts';

/** Operations of the autoscaler agent, which takes no token. */

const read = { kind: 'autoscaler', method: 'GET', mutates: false, retryPolicy: 'safe', reversible: true } as const;
const DOCS = 'docs/services/autoscaler.md';

export const autoscaler = {
  health: {
    read: defineOperation({
      ...read,
      name: 'autoscaler.health.read',
      path: '/health',
      description: 'reports whether the agent is alive: status 200 or 503',
      params: {},
      responseType: 'health',
      permission: 'none',
      docsUrl: `${DOCS}#health`,
    }),
  },
  metrics: {
    read: defineOperation({
      ...read,
      name: 'autoscaler.metrics.read',
      path: '/metrics',
      description: "reads the agent's own metrics",
      params: { format: queryParam('`prometheus` for the text format; JSON by default') },
      responseType: 'object',
      permission: 'none',
      docsUrl: `${DOCS}#metrics`,
    }),
  },
} as const;
