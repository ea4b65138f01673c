export type Rows = readonly Readonly<Record<string, unknown>>[];
export type Tables = Readonly<Record<string, Rows>>;

/** A time as rows show it; `text` may have microseconds, which a Date would lose. */
export function time(at: number | Date | string | null): string | null {
  if (at === null) return null;
  const text = typeof at === 'string' ? at : new Date(at).toISOString();
  return text.replace(/\.?0*Z$/u, 'Z').replace(/(:\d\d)\.(\d*?)0*Z$/u, '$1.$2Z');
}

/** The same, cut to whole seconds, as CSV exports tell times. */
export function wholeSeconds(at: number | null): string | null {
  return at === null ? null : time(Math.floor(at / 1000) * 1000);
}

/** An absent value is null, never an empty text. */
export function filled(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}

/** A number as JSON text holds it: a bigint only where a number would lose digits. */
export function digits(value: bigint | number): bigint | number {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** Null for nothing, as `extra` and other JSON columns have it. */
export function object(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | null {
  return Object.keys(value).length === 0 ? null : value;
}
