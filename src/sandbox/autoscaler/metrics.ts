import { stringify } from 'lossless-json';
import type { Flavor, Reply } from '../types.ts';
import type { AutoscalerState, Gauge, Labels, Series } from './state.ts';

function seriesJson({ name, labels, count, rate, sum, min, max, mean, stddev }: Series) {
  return {
    Count: count,
    Labels: labels,
    Max: max,
    Mean: mean,
    Min: min,
    Name: name,
    Rate: rate,
    Stddev: stddev,
    Sum: sum,
  };
}

const gaugeJson = ({ name, labels, value }: Gauge) => ({ Labels: labels, Name: name, Value: value });

/** The metrics document; Points and Samples as go-metrics prints them (live-services.md E), the document shows neither. */
export function metricsJson(state: AutoscalerState, flavor: Flavor): Reply {
  const { gauges, counters, samples } = state;
  const document = {
    Counters: counters.map(seriesJson),
    Gauges: gauges.map(gaugeJson),
    Points:
      flavor === 'hashicorp'
        ? null
        : [{ Name: gauges[0]?.name ?? '', Points: gauges.slice(0, 3).map(({ value }) => value) }],
    Samples: samples.map(seriesJson),
    Timestamp: state.timestamp,
    ...(flavor === 'hashicorp' ? { PrecisionGauges: [] } : {}),
  };
  return { status: 200, headers: { 'content-type': 'application/json' }, body: stringify(document)! };
}

const metricName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_]/g, '_');

/** Prometheus text format 0.0.4: backslash, quote and line feed are escaped in label values. */
function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => {
    const escaped = value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
    return `${name}="${escaped}"`;
  });
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function* prometheusLines({ gauges, counters, samples }: AutoscalerState): Generator<string> {
  for (const { name, labels, value } of gauges) yield `${metricName(name)}${labelText(labels)} ${value}`;
  for (const { name, labels, sum } of counters) yield `${metricName(name)}${labelText(labels)} ${sum}`;
  for (const { name, labels, sum, count } of samples) {
    yield `${metricName(name)}_sum${labelText(labels)} ${sum}`;
    yield `${metricName(name)}_count${labelText(labels)} ${count}`;
  }
}

export function metricsText(state: AutoscalerState): Reply {
  const body = `${[...prometheusLines(state)].join('\n')}\n`;
  return { status: 200, headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }, body };
}
