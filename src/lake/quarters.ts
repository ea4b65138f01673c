/** The start of the quarter of a time, in UTC. */
export function quarterStart(time: Date): Date {
  return new Date(Date.UTC(time.getUTCFullYear(), Math.floor(time.getUTCMonth() / 3) * 3, 1));
}

/** `2026-10`, as the folders of the lake are named. */
export function monthName(time: Date): string {
  return time.toISOString().slice(0, 7);
}

/** A history that begins earlier has no states before. */
const MAX_QUARTERS = 120;

/** The quarters that begin after a time, up to and including another, oldest first. */
export function quartersBetween(after: Date, until: Date): readonly Date[] {
  const starts: Date[] = [];
  let start = quarterStart(until);
  while (start.getTime() > after.getTime() && starts.length < MAX_QUARTERS) {
    starts.unshift(start);
    start = new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() - 3, 1));
  }
  return starts;
}
