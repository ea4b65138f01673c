import { inQuery, operation } from './operation.ts';

/** The 2 operations of the autoscaler agent, which takes no token. */

const read = { kind: 'autoscaler', method: 'GET', changes: false, repeat: 'read', reversible: true } as const;
const endpoints = 'scheduler-autoscaler-mesh.md, Endpoints, Autoscaler';

export const autoscaler = {
  health: {
    read: operation({
      ...read,
      name: 'autoscaler.health.read',
      path: '/health',
      about: 'tells whether the agent is alive: 200, or 503, which is an answer too',
      params: {},
      answers: 'health',
      permission: 'none',
      rule: `${endpoints}: Health`,
    }),
  },
  metrics: {
    read: operation({
      ...read,
      name: 'autoscaler.metrics.read',
      path: '/metrics',
      about: "reads the agent's own metrics",
      params: { format: inQuery('prometheus for the text format; JSON by default') },
      answers: 'object',
      permission: 'none',
      rule: `${endpoints}: Metrics`,
    }),
  },
} as const;
