import type { AutoscalerState, Gauge, MetricSeries } from '../../../sandbox/autoscaler.ts';
import type { Flavor } from '../../../sandbox/types.ts';
import { digits, object, type Tables, time } from './values.ts';

const target = 'scaler';
const NOTHING = { value: null, count: null, sum: null, min: null, max: null, mean: null, stddev: null, rate: null };

export function autoscalerTables(state: AutoscalerState, flavor: Flavor, now: Date): Tables {
  const measured_at = time(new Date(state.timestamp.replace(' +0000 UTC', 'Z')));
  const { gauges, counters, samples, alive } = state;
  const points = { Points: gauges.slice(0, 3).map(({ value }) => digits(value)) };
  return {
    autoscaler_health: [{ target, alive, checked_at: time(now), extra: null }],
    autoscaler_metrics: [
      ...gauges.map((gauge) => ({ ...gaugeRow(gauge), measured_at })),
      ...counters.map((series) => ({ ...seriesRow('counter', series), measured_at })),
      ...samples.map((series) => ({ ...seriesRow('sample', series), measured_at })),
      ...(flavor === 'spec'
        ? [{ target, ...NOTHING, kind: 'point', name: gauges[0]?.name, labels: null, measured_at, extra: points }]
        : []),
    ],
  };
}

/** A value that a double cannot hold keeps its digits in `extra`. */
function gaugeRow({ name, labels, value }: Gauge) {
  const exact = BigInt(Number(value)) === BigInt(value);
  return {
    target,
    ...NOTHING,
    kind: 'gauge',
    name,
    labels: object(labels),
    value: Number(value),
    extra: exact ? null : { Value: value },
  };
}

function seriesRow(kind: string, { name, labels, ...figures }: MetricSeries) {
  return { target, ...NOTHING, kind, name, labels: object(labels), ...figures, extra: null };
}
