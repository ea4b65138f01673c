/** One measurement and its limit. Results are ratios, since times of one machine do not apply to another. */
export interface Result {
  /** The part that measured it: `npm run bench -- PART`. */
  readonly part: string;
  readonly what: string;
  readonly measured: string;
  /** The reference: measured in the same run, or a constant. */
  readonly against: string;
  readonly ratio: number;
  /** The highest acceptable ratio; undefined for results without a limit. */
  readonly aim?: number;
}

export interface Bench {
  /** An empty folder, removed at the end. */
  readonly folder: string;
  readonly log: (text: string) => void;
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

/** One round: the measurement and its reference, one after the other. */
export interface Round {
  readonly measured: number;
  readonly against: number;
}

/** The median of the ratios: a slow phase of the machine affects both sides of a round. */
export function medianRatio(
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

export function isMet({ ratio, aim }: Result): boolean {
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
