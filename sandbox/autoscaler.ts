import { readEstate } from './estate.ts';
import { createRandom, type Random, scaleCount } from './random.ts';
import { jsonResponse, textResponse } from './router.ts';
import {
  type Flavor,
  FORTNIGHT,
  type Request,
  type Response,
  type Route,
  type Service,
  type ServiceOptions,
} from './types.ts';

type Labels = Readonly<Record<string, string>>;

/** As the service writes it: docs/services/autoscaler.md#metrics. */
export interface Gauge {
  readonly Labels: Labels;
  readonly Name: string;
  readonly Value: number | bigint;
}

/** Counters and samples have the same fields. */
export type MetricSeries = ReturnType<typeof seedSeries>;
export type AutoscalerState = ReturnType<typeof seedMetrics>;

/** The days of a fortnight on which the agent is not ready. */
const DOWN_DAYS: readonly number[] = [5, 11];

/** The runtime metrics that every Go service with go-metrics reports, with their order of magnitude. */
const RUNTIME: readonly (readonly [name: string, size: number])[] = [
  ['alloc_bytes', 6e6],
  ['free_count', 4e7],
  ['heap_objects', 4e4],
  ['num_goroutines', 40],
  ['sys_bytes', 7e7],
  ['total_gc_pause_ns', 2e8],
  ['total_gc_runs', 9e3],
];

/** The autoscaler's agent. It has no tokens, and reports metrics on the days that it is down, too. */
export class AutoscalerService implements Service {
  readonly kind = 'autoscaler';
  readonly base = '/v1';
  readonly error = textResponse;
  readonly state: AutoscalerState;
  readonly #options: ServiceOptions;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.state = seedMetrics(options, 0, options.start);
  }

  get routes(): readonly Route[] {
    const health = () => (this.state.alive ? { status: 200 } : textResponse(503, 'Service unavailable'));
    return [
      { method: 'GET', path: '/health', handle: health },
      { method: 'GET', path: '/metrics', handle: (request) => this.#metrics(request) },
    ];
  }

  authenticate(): undefined {
    return undefined;
  }

  tick(day: number, now: Date): void {
    Object.assign(this.state, seedMetrics(this.#options, day, now));
  }

  #metrics({ query }: Request): Response {
    if (query.get('format') !== 'prometheus') return jsonResponse(metricsDocument(this.state, this.#options.flavor));
    const body = `${[...prometheusLines(this.state)].join('\n')}\n`;
    return { status: 200, headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }, body };
  }
}

/** The API document shows neither Points nor the elements of Samples; here they are as go-metrics prints them. */
function metricsDocument({ gauges, counters, samples, timestamp }: AutoscalerState, flavor: Flavor) {
  const isHashicorp = flavor === 'hashicorp';
  const points = [{ Name: gauges[0]?.Name ?? '', Points: gauges.slice(0, 3).map(({ Value }) => Value) }];
  return {
    Counters: counters,
    Gauges: gauges,
    Points: isHashicorp ? null : points,
    Samples: samples,
    Timestamp: timestamp,
    ...(isHashicorp ? { PrecisionGauges: [] } : {}),
  };
}

function* prometheusLines({ gauges, counters, samples }: AutoscalerState): Generator<string> {
  for (const { Name, Labels, Value } of gauges) yield `${metricName(Name)}${formatLabels(Labels)} ${Value}`;
  for (const { Name, Labels, Sum } of counters) yield `${metricName(Name)}${formatLabels(Labels)} ${Sum}`;
  for (const { Name, Labels, Sum, Count } of samples) {
    yield `${metricName(Name)}_sum${formatLabels(Labels)} ${Sum}`;
    yield `${metricName(Name)}_count${formatLabels(Labels)} ${Count}`;
  }
}

function metricName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_]/g, '_');
}

/** Prometheus text format 0.0.4: backslash, quote and line feed are escaped in label values. */
function formatLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => {
    const escaped = value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
    return `${name}="${escaped}"`;
  });
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** The state on a day. It depends on that day alone: the agent keeps only its last ten seconds. */
function seedMetrics({ seed, estate, scale, flavor }: ServiceOptions, day: number, now: Date) {
  const random = createRandom(`${seed}/autoscaler/${day}`);
  const prefix = flavor === 'hashicorp' ? 'nomad-autoscaler' : 'autoscaler';
  const { scaled, plantedPolicies, plantedSources } = readEstate(estate).autoscaler;
  const names = Array.from({ length: scaleCount(6, scale) }, (_, index) => namePolicy(scaled, index));
  const policies = [...names, ...plantedPolicies];
  const sources = ['file', 'nomad', ...plantedSources];
  return {
    alive: !DOWN_DAYS.includes(day % FORTNIGHT),
    // Go's `2006-01-02 15:04:05 +0000 UTC`.
    timestamp: `${now.toISOString().slice(0, 19).replace('T', ' ')} +0000 UTC`,
    gauges: seedGauges(prefix, policies, random),
    counters: sources.map((source) =>
      seedSeries(`${prefix}.policy.source.error_count`, { policy_source: source }, random),
    ),
    samples: policies.map((policy) => seedSeries(`${prefix}.scale.evaluate_ms`, { policy_id: policy }, random)),
  };
}

function namePolicy(scaled: readonly string[], index: number): string {
  if (scaled.length === 0) return `web-tier-${index + 1}`;
  const round = Math.floor(index / scaled.length);
  return `${scaled[index % scaled.length]}${round === 0 ? '' : `-c${round + 1}`}`;
}

function seedGauges(prefix: string, policies: readonly string[], random: Random): Gauge[] {
  const gauge = (name: string, value: number | bigint, labels: Labels = {}): Gauge => {
    return { Labels: labels, Name: `${prefix}.${name}`, Value: value };
  };
  return [
    gauge('policy.total_num', policies.length),
    ...RUNTIME.map(([name, size]) => gauge(`runtime.${name}`, Math.round(size * (0.8 + random.next() * 0.4)))),
    // Beyond 2^53: a reader that takes it for a double loses its last digits.
    gauge('runtime.malloc_count', 9_007_199_254_740_993n + BigInt(random.int(0, 99)) * 2n),
    ...policies.map((policy) =>
      gauge('policy.scale_delta', random.int(-3, 3), { policy_id: policy, target_name: 'aws-asg' }),
    ),
  ];
}

function seedSeries(name: string, labels: Labels, random: Random) {
  const count = random.int(1, 40);
  const values = Array.from({ length: count }, () => random.int(1, 900) / 10);
  const sum = values.reduce((total, value) => total + value, 0);
  const mean = sum / count;
  const variance = values.reduce((total, value) => total + (value - mean) ** 2, 0) / count;
  return {
    Count: count,
    Labels: labels,
    Max: Math.max(...values),
    Mean: mean,
    Min: Math.min(...values),
    Name: name,
    Rate: sum / 10,
    Stddev: Math.sqrt(variance),
    Sum: sum,
  };
}
