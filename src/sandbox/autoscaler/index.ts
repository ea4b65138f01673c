import type { Reply, Route, Service } from '../types.ts';
import { type AutoscalerOptions, inventMetrics } from './estate.ts';
import { metricsJson, metricsText } from './metrics.ts';
import type { AutoscalerState } from './state.ts';

function error(status: number, message: string): Reply {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: message };
}

/** The autoscaler's agent. It has no tokens; on the nights that it is down it still tells its metrics. */
export function createAutoscaler(options: AutoscalerOptions): Service & { readonly state: AutoscalerState } {
  const state = inventMetrics(options, 0, options.start);
  const routes: Route[] = [
    {
      method: 'GET',
      path: '/health',
      answer: () => (state.alive ? { status: 200 } : error(503, 'Service unavailable')),
    },
    {
      method: 'GET',
      path: '/metrics',
      answer: ({ query }) =>
        query.get('format') === 'prometheus' ? metricsText(state) : metricsJson(state, options.flavor),
    },
  ];
  return {
    kind: 'autoscaler',
    base: '/v1',
    routes,
    authenticate: () => undefined,
    error,
    advance: (night, now) => void Object.assign(state, inventMetrics(options, night, now)),
    state,
  };
}
