import { HOSTILE_TEXTS, sized } from '../forge.ts';
import { createRandom, type Random } from '../prng.ts';
import type { Flavor } from '../types.ts';
import type { AutoscalerState, Gauge, Labels, Series } from './state.ts';

/** The nights of a fortnight on which the agent is not ready. */
const NIGHTS_DOWN: readonly number[] = [5, 11];

export interface AutoscalerOptions {
  readonly seed: number;
  /** Workspaces / 240. */
  readonly scale: number;
  readonly flavor: Flavor;
  /** The present on night 0. */
  readonly start: Date;
}

/** The runtime figures that every Go service with go-metrics tells, with their order of magnitude. */
const RUNTIME: readonly (readonly [name: string, size: number])[] = [
  ['alloc_bytes', 6e6],
  ['free_count', 4e7],
  ['heap_objects', 4e4],
  ['num_goroutines', 40],
  ['sys_bytes', 7e7],
  ['total_gc_pause_ns', 2e8],
  ['total_gc_runs', 9e3],
];

function series(name: string, labels: Labels, random: Random): Series {
  const count = random.int(1, 40);
  const values = Array.from({ length: count }, () => random.int(1, 900) / 10);
  const sum = values.reduce((total, value) => total + value, 0);
  const mean = sum / count;
  const spread = values.reduce((total, value) => total + (value - mean) ** 2, 0) / count;
  const [min, max] = [Math.min(...values), Math.max(...values)];
  return { name, labels, count, rate: sum / 10, sum, min, max, mean, stddev: Math.sqrt(spread) };
}

function inventGauges(prefix: string, policies: readonly string[], random: Random): Gauge[] {
  const runtime = RUNTIME.map(([name, size]) => ({
    name: `${prefix}.runtime.${name}`,
    labels: {},
    value: Math.round(size * (0.8 + random.next() * 0.4)),
  }));
  return [
    { name: `${prefix}.policy.total_num`, labels: {}, value: policies.length },
    ...runtime,
    // Beyond 2^53: a reader that takes it for a double loses its last digits.
    {
      name: `${prefix}.runtime.malloc_count`,
      labels: {},
      value: 9_007_199_254_740_993n + BigInt(random.int(0, 99)) * 2n,
    },
    ...policies.map((policy_id) => ({
      name: `${prefix}.policy.scale_delta`,
      labels: { policy_id, target_name: 'aws-asg' },
      value: random.int(-3, 3),
    })),
  ];
}

/** The state on a night; it depends on the night alone, for the agent keeps only its last ten seconds. */
export function inventMetrics(options: AutoscalerOptions, night: number, now: Date): AutoscalerState {
  const random = createRandom(`${options.seed}/autoscaler/${night}`);
  const prefix = options.flavor === 'hashicorp' ? 'nomad-autoscaler' : 'autoscaler';
  const named = Array.from({ length: sized(6, options.scale) }, (_, index) => `web-tier-${index + 1}`);
  const policies = [...named, ...HOSTILE_TEXTS];
  const sources = ['file', 'nomad', HOSTILE_TEXTS[0]!];
  return {
    alive: !NIGHTS_DOWN.includes(night % 14),
    timestamp: `${now.toISOString().slice(0, 19).replace('T', ' ')} +0000 UTC`,
    gauges: inventGauges(prefix, policies, random),
    counters: sources.map((policy_source) => series(`${prefix}.policy.source.error_count`, { policy_source }, random)),
    samples: policies.map((policy_id) => series(`${prefix}.scale.evaluate_ms`, { policy_id }, random)),
  };
}
