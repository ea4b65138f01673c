import type { AutoscalerState, Gauge, MetricSeries } from '../../../sandbox/autoscaler.ts';
import type { Flavor } from '../../../sandbox/types.ts';
import { digits, object, type Tables, time } from './values.ts';

const target = 'scaler';
const NOTHING = { value: null, count: null, sum: null, min: null, max: null, mean: null, stddev: null, rate: null };

export function autoscalerTables(state: AutoscalerState, flavor: Flavor, now: Date): Tables {
  const measured_at = time(new Date(state.timestamp.replace(' +0000 UTC', 'Z')));
  const { gauges, counters, samples, alive } = state;
  const points = { Points: gauges.slice(0, 3).map(({ Value }) => digits(Value)) };
  return {
    autoscaler_health: [{ target, alive, checked_at: time(now), extra: null }],
    autoscaler_metrics: [
      ...gauges.map((gauge) => ({ ...gaugeRow(gauge), measured_at })),
      ...counters.map((series) => ({ ...seriesRow('counter', series), measured_at })),
      ...samples.map((series) => ({ ...seriesRow('sample', series), measured_at })),
      ...(flavor === 'spec'
        ? [{ target, ...NOTHING, kind: 'point', name: gauges[0]?.Name, labels: null, measured_at, extra: points }]
        : []),
    ],
  };
}

/** A value that a double cannot hold keeps its digits in `extra`. */
function gaugeRow({ Name: name, Labels, Value }: Gauge) {
  const exact = BigInt(Number(Value)) === BigInt(Value);
  const extra = exact ? null : { Value };
  return { target, ...NOTHING, kind: 'gauge', name, labels: object(Labels), value: Number(Value), extra };
}

function seriesRow(kind: string, { Name: name, Labels, ...figures }: MetricSeries) {
  const lower = Object.entries(figures).map(([figure, value]) => [figure.toLowerCase(), value] as const);
  return { target, ...NOTHING, kind, name, labels: object(Labels), ...Object.fromEntries(lower), extra: null };
}
