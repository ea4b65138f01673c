import { DAY_MS } from '../core/duration.ts';
import type { Random } from './prng.ts';

/** Texts that occur in real data sooner or later and that careless programs fail on. */
export const HOSTILE_TEXTS: readonly string[] = [
  `Ships "next day", 'maybe'; ask O'Brien`,
  '<script>alert("tidemark")</script><img src=x onerror=alert(1)>',
  'first line\nsecond line\r\n\tthird, with a tab',
  `=cmd|' /C calc'!A0`,
  '\u202Eتخزين\u202C 名前 🌊',
  `'; drop table volumes; --`,
  `{{{secret}}} \${HOME} %s %n \\u0000 \u001B[31mred\u001B[0m`,
  `very long ${'and on '.repeat(60)}`,
];

export function uuid(random: Random): string {
  return [8, 4, 4, 4, 12].map((length) => random.hex(length)).join('-');
}

export function daysBefore(now: Date, days: number): Date {
  return new Date(now.getTime() - days * DAY_MS);
}

/** RFC 3339 with microseconds, as Go services print times. */
export function formatMicroseconds(date: Date, random: Random): string {
  return `${date.toISOString().slice(0, -1)}${String(random.int(1, 999)).padStart(3, '0')}Z`;
}

/** RFC 3339 in whole seconds. */
export function formatTimestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/** The number of rows at a scale of a table that has `base` rows at scale 1: it grows with the square root and never shrinks. */
export function scaleCount(base: number, scale: number): number {
  return Math.round(base * Math.max(1, Math.sqrt(scale)));
}
