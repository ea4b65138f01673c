import type { Usage } from './processes.ts';

/** One measurement and its limit. Results are ratios, since times of one machine do not apply to another. */
export interface Result {
  readonly what: string;
  readonly measured: string;
  /** The reference: measured in the same run, or a constant. */
  readonly against: string;
  readonly ratio: number;
  /** The lowest and the highest ratio of the rounds; undefined for results of one round. */
  readonly range?: Range;
  /** The highest acceptable ratio; undefined for results without a limit. */
  readonly aim?: number;
  /** It is printed, and another row of the document says enough. */
  readonly isDetail?: boolean;
}

export type Range = readonly [low: number, high: number];

/** `quick` shows in a minute that the parts work, `large` adds the sizes that take many minutes. */
export type Size = 'quick' | 'usual' | 'large';

export interface Bench {
  /** An empty folder, removed at the end of the part. */
  readonly folder: string;
  /** Recorded estates, which the parts of a run share. */
  readonly estates: string;
  readonly size: Size;
  readonly log: (text: string) => void;
}

export interface Part {
  readonly name: string;
  readonly about: string;
  /** @throws Skipped when the part cannot be measured here */
  readonly measure: (bench: Bench) => Promise<readonly Result[]>;
}

/** Why a part is not measured on this machine. */
export class Skipped extends Error {}

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
): Pick<Result, 'measured' | 'against' | 'ratio' | 'range'> {
  const ratios = rounds.map(({ measured, against }) => measured / against);
  return {
    measured: show(median(rounds.map(({ measured }) => measured))),
    against: `${show(median(rounds.map(({ against }) => against)))} ${whose}`,
    ratio: median(ratios),
    ...(rounds.length > 1 && { range: [Math.min(...ratios), Math.max(...ratios)] }),
  };
}

/** Compares the median of values with a limit. The ratio is that to the limit. */
export function compareWithLimit(
  values: readonly number[],
  limit: number,
  show: (value: number) => string,
): Pick<Result, 'measured' | 'against' | 'ratio' | 'range' | 'aim'> {
  return {
    measured: show(median(values)),
    against: `${show(limit)}, the limit`,
    ratio: median(values) / limit,
    ...(values.length > 1 && { range: [Math.min(...values) / limit, Math.max(...values) / limit] }),
    aim: 1,
  };
}

/** Of a command on 200,000 workspaces and more. */
const MAX_MIB = 1500;

/**
 * Two runs of a command: their peak memory beside its limit, and their time beside their processor time.
 * @param whats what the two results name
 */
export function compareTwoRuns(
  whats: Readonly<Record<'memory' | 'time', string>>,
  first: Usage,
  second: Usage,
): readonly Result[] {
  const peakMiB = Math.max(first.peakMiB, second.peakMiB);
  return [
    { what: whats.memory, ...compareWithLimit([peakMiB], MAX_MIB, mebibytes) },
    {
      what: whats.time,
      measured: `${seconds(first.wallMs)} and ${seconds(second.wallMs)}`,
      against: `${seconds(first.cpuMs)} and ${seconds(second.cpuMs)} of CPU time`,
      ratio: (first.wallMs + second.wallMs) / (first.cpuMs + second.cpuMs),
    },
  ];
}

export function isMet({ ratio, aim }: Result): boolean {
  return aim === undefined || ratio <= aim;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

/** Time, CPU time and peak memory of a process, for the log. */
export function showUsage({ wallMs, cpuMs, peakMiB }: Usage): string {
  return `${seconds(wallMs)}, CPU ${seconds(cpuMs)}, ${mebibytes(peakMiB)}`;
}

export function milliseconds(ms: number): string {
  return `${Math.round(ms)} ms`;
}

export function mebibytes(size: number): string {
  return `${Math.round(size)} MiB`;
}
