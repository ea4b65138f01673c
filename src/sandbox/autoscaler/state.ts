export type Labels = Readonly<Record<string, string>>;

export interface Gauge {
  readonly name: string;
  readonly labels: Labels;
  value: number | bigint;
}

/** Counters and samples have one shape (live-services.md E). */
export interface Series {
  readonly name: string;
  readonly labels: Labels;
  count: number;
  rate: number;
  sum: number;
  min: number;
  max: number;
  mean: number;
  stddev: number;
}

export interface AutoscalerState {
  alive: boolean;
  /** Go's `2006-01-02 15:04:05 +0000 UTC`. */
  timestamp: string;
  gauges: Gauge[];
  counters: Series[];
  samples: Series[];
}
