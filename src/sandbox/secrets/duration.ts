const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds of `90`, `"90"`, `"1h30m"`; 0 when empty or absent; undefined when it is no duration. */
export function parseSeconds(value: unknown): number | undefined {
  if (value === undefined || value === null || value === '') return 0;
  const text = String(value);
  if (/^\d+$/.test(text)) return Number(text);
  if (!/^(\d+[smhd])+$/.test(text)) return undefined;
  return [...text.matchAll(/(\d+)([smhd])/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * UNIT_SECONDS[unit!]!,
    0,
  );
}

/** Go's spelling: `1h0m0s`, `30m0s`, `0s`. */
export function printSeconds(seconds: number): string {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const rest = `${seconds % 60}s`;
  if (hours > 0) return `${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}
