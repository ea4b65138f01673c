import { describe, expect, it } from 'vitest';
import { parseRateLimit, parseRetryAfter } from '../../src/http/rate-limit-headers.ts';

const NOW_MS = Date.parse('2026-11-20T02:15:00Z');

/** Longer waits are as long. */
const YEAR_MS = 366 * 86_400_000;

describe('how long a response asks the client to wait', () => {
  it.each<[string, Record<string, string>, number | undefined]>([
    ['Retry-After in seconds', { 'retry-after': '7' }, 7000],
    ['Retry-After with a fraction', { 'retry-after': '0.5' }, 500],
    ['Retry-After of nothing', { 'retry-after': '0' }, 0],
    ['Retry-After as a date, by the local clock', { 'retry-after': 'Fri, 20 Nov 2026 02:15:30 GMT' }, 30_000],
    [
      'Retry-After as a date, by the clock of the response',
      { 'retry-after': 'Fri, 20 Nov 2026 05:00:30 GMT', date: 'Fri, 20 Nov 2026 05:00:00 GMT' },
      30_000,
    ],
    ['Retry-After in the past', { 'retry-after': 'Fri, 20 Nov 2026 02:14:00 GMT' }, 0],
    ['a Retry-After that is neither', { 'retry-after': 'soon' }, undefined],
    ['a Retry-After that is neither, with another header', { 'retry-after': 'soon', 'x-ratelimit-reset': '2' }, 2000],
    ['RateLimit of the draft', { ratelimit: '"default";r=0;t=12' }, 12_000],
    ['RateLimit of the older draft', { ratelimit: 'limit=10, remaining=0, reset=3' }, 3000],
    ['RateLimit-Reset', { 'ratelimit-reset': '4' }, 4000],
    ['X-RateLimit-Reset as float seconds', { 'x-ratelimit-reset': '0.247' }, 247],
    ['X-RateLimit-Reset as a time', { 'x-ratelimit-reset': String(NOW_MS / 1000 + 9) }, 9000],
    ['X-RateLimit-Reset as a time in milliseconds', { 'x-ratelimit-reset': String(NOW_MS + 9000) }, 9000],
    ['X-RateLimit-Reset whose fraction was cut off', { 'x-ratelimit-reset': '0' }, 1000],
    [
      'X-RateLimit-Reset as a time of a service whose clock is ahead',
      { 'x-ratelimit-reset': String(NOW_MS / 1000 + 3609), date: 'Fri, 20 Nov 2026 03:15:00 GMT' },
      9000,
    ],
    [
      'X-RateLimit-Reset while something remains',
      { 'x-ratelimit-remaining': '3', 'x-ratelimit-reset': '60' },
      undefined,
    ],
    ['Retry-After before X-RateLimit-Reset', { 'retry-after': '5', 'x-ratelimit-reset': '1' }, 5000],
    ['a negative wait', { 'retry-after': '-5' }, undefined],
    ['a wait of years', { 'retry-after': '999999999' }, YEAR_MS],
    ['a wait of more digits than a number has', { 'retry-after': '9'.repeat(400) }, YEAR_MS],
    ['a date beyond any wait', { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' }, YEAR_MS],
    ['a reset beyond any wait', { 'x-ratelimit-reset': '9'.repeat(20) }, YEAR_MS],
    ['nothing', {}, undefined],
  ])('%s', (_, headers, waitMs) => {
    expect(parseRetryAfter(new Headers(headers), NOW_MS)).toBe(waitMs);
  });
});

describe('the rate limit that a response advertises', () => {
  it.each<[string, Record<string, string>, ReturnType<typeof parseRateLimit>]>([
    [
      'X-RateLimit-*',
      { 'x-ratelimit-limit': '30', 'x-ratelimit-remaining': '12', 'x-ratelimit-reset': '0.5' },
      { limit: 30, remaining: 12, resetMs: 500 },
    ],
    [
      'RateLimit-*',
      { 'ratelimit-limit': '100, 100;w=60', 'ratelimit-remaining': '99', 'ratelimit-reset': '60' },
      { limit: 100, remaining: 99, resetMs: 60_000 },
    ],
    [
      'RateLimit with RateLimit-Policy',
      { ratelimit: '"default";r=50;t=30', 'ratelimit-policy': '"default";q=100;w=60' },
      { limit: 100, remaining: 50, resetMs: 30_000 },
    ],
    [
      'the older RateLimit',
      { ratelimit: 'limit=10, remaining=4, reset=3' },
      { limit: 10, remaining: 4, resetMs: 3000 },
    ],
    [
      'a reset that is a time of a service whose clock is ahead',
      {
        'x-ratelimit-limit': '30',
        'x-ratelimit-remaining': '12',
        'x-ratelimit-reset': String(NOW_MS / 1000 + 3609),
        date: 'Fri, 20 Nov 2026 03:15:00 GMT',
      },
      { limit: 30, remaining: 12, resetMs: 8500 },
    ],
    [
      'a reset that is a time of a service that does not say what its clock is',
      {
        'x-ratelimit-limit': '30',
        'x-ratelimit-remaining': '12',
        'x-ratelimit-reset': String(NOW_MS / 1000 + 9),
      },
      { limit: 30, remaining: 12, resetMs: 9000 },
    ],
    ['a limit alone', { 'x-ratelimit-limit': '30' }, undefined],
    [
      'a limit of nothing',
      { 'x-ratelimit-limit': '0', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1' },
      undefined,
    ],
    ['no number', { 'x-ratelimit-limit': 'x', 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '1' }, undefined],
  ])('%s', (_, headers, info) => {
    expect(parseRateLimit(new Headers(headers), NOW_MS)).toEqual(info);
  });
});
