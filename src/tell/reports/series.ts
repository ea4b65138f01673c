import { utcDay } from 'd3-time';
import { groupBy } from '../../core/group-by.ts';
import type { Row } from '../../warehouse/values.ts';

/** The values of one name over time. */
export interface Series {
  readonly name: string;
  readonly points: readonly Point[];
  /** Class of the stylesheet. @default by its position */
  readonly color?: string;
  /** Whether its bars point downwards. */
  readonly isDown?: boolean;
}

export interface Point {
  readonly at: Date;
  readonly value: number;
}

/** Series from rows, ordered by time: one per column of `columns`, or, with `by`, one per value of that column. */
export function buildSeries(rows: readonly Row[], x: string, columns: readonly string[], by?: string) {
  const hasValue = (column: string) => (row: Row) => row[column] !== null && row[x] !== null;
  const toPoints = (members: readonly Row[], column: string) =>
    members
      .map((row) => ({ at: new Date(String(row[x])), value: Number(row[column]) }))
      .sort((a, b) => a.at.getTime() - b.at.getTime());
  if (by === undefined) {
    return columns.map((name) => ({ name, points: toPoints(rows.filter(hasValue(name)), name) }));
  }
  const [column = ''] = columns;
  const groups = groupBy(rows.filter(hasValue(column)), (row) => row[by] ?? null);
  return [...groups].map(([name, members]) => ({ name: String(name), points: toPoints(members, column) }));
}

/** The least and the largest value: `Math.min(...values)` takes some 120,000. */
export function findExtent(values: readonly number[]): readonly [least: number, largest: number] {
  return [
    values.reduce((least, value) => Math.min(least, value), Infinity),
    values.reduce((largest, value) => Math.max(largest, value), -Infinity),
  ];
}

/** A longer time between two points than this many times the usual one is a gap. */
const GAP_FACTOR = 1.5;

/** The times in parts without a gap. A line across a gap would show values that no pull reported. */
export function splitAtGaps(times: readonly Date[]): readonly (readonly Date[])[] {
  const steps = times.slice(1).map((time, index) => time.getTime() - (times[index]?.getTime() ?? 0));
  const usual = [...steps].sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0;
  const starts = times.flatMap((_, index) => ((steps[index - 1] ?? Infinity) > usual * GAP_FACTOR ? [index] : []));
  return starts.map((start, index) => times.slice(start, starts[index + 1]));
}

/** The points of the newest times. */
export function takeNewest(series: readonly Series[], maxTimes: number): readonly Series[] {
  const times = sortedTimes(series);
  const oldest = times.at(-maxTimes);
  if (times.length <= maxTimes || !oldest) return series;
  return series.map((one) => ({ ...one, points: one.points.filter(({ at }) => at >= oldest) }));
}

/** Moves the points of daily series to the start of their days, where the ticks are. Other series stay unchanged. */
export function alignToDays(series: readonly Series[]): readonly Series[] {
  const times = sortedTimes(series);
  const days = new Set(times.map((time) => utcDay.floor(time).getTime()));
  if (days.size < times.length) return series;
  return series.map(({ name, points }) => ({
    name,
    points: points.map(({ at, value }) => ({ at: utcDay.floor(at), value })),
  }));
}

export function sortedTimes(series: readonly Series[]): readonly Date[] {
  const times = new Set(series.flatMap(({ points }) => points.map(({ at }) => at.getTime())));
  return [...times].sort((a, b) => a - b).map((time) => new Date(time));
}
