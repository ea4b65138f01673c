import { type ArgIssue, type Args, defineOperation, queryParam } from './operation.ts';

/** Operations of the autoscaler agent, which takes no token. */

const read = { kind: 'autoscaler', method: 'GET', mutates: false, retryPolicy: 'safe', reversible: true } as const;
const DOCS = 'docs/services/autoscaler.md';

/** Any other value is JSON in the real product, and not documented: docs/services/autoscaler.md#metrics. */
function validateFormat({ format }: Args): ArgIssue[] {
  if (format === undefined || format === '' || format === 'prometheus') return [];
  return [{ path: 'format', message: 'must be prometheus, or left out for JSON' }];
}

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
      validate: validateFormat,
      responseType: 'object',
      permission: 'none',
      docsUrl: `${DOCS}#metrics`,
    }),
  },
} as const;
