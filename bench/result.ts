/** One aim, and what was measured for it. Everything is a ratio: times of one machine mean nothing on another. */
export interface Result {
  /** The part that measured it: `npm run bench -- PART`. */
  readonly part: string;
  readonly what: string;
  readonly measured: string;
  /** What it is held against, measured in the same run or stated by the aim. */
  readonly against: string;
  readonly ratio: number;
  /** The ratio that it may have at most; undefined where it is shown for comparison only. */
  readonly aim?: number;
}

export interface Bench {
  /** An empty folder; it goes when the benchmarks end. */
  readonly folder: string;
  readonly say: (text: string) => void;
}

export interface Part {
  readonly name: string;
  readonly about: string;
  readonly measure: (bench: Bench) => Promise<readonly Result[]>;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** One round: what is measured and what it is held against, one right after the other. */
export interface Round {
  readonly measured: number;
  readonly against: number;
}

/** The median of the rounds' ratios: a moment in which the machine is slower touches both sides of one round only. */
export function ratioOf(
  rounds: readonly Round[],
  show: (value: number) => string,
  whose: string,
): Pick<Result, 'measured' | 'against' | 'ratio'> {
  return {
    measured: show(median(rounds.map(({ measured }) => measured))),
    against: `${show(median(rounds.map(({ against }) => against)))} ${whose}`,
    ratio: median(rounds.map(({ measured, against }) => measured / against)),
  };
}

export function met({ ratio, aim }: Result): boolean {
  return aim === undefined || ratio <= aim;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

export function milliseconds(ms: number): string {
  return `${Math.round(ms)} ms`;
}

export function mebibytes(size: number): string {
  return `${Math.round(size)} MiB`;
}
