import { expect, onTestFinished, test } from 'vitest';
import { contend } from '../system/lock/contend.ts';
import { stopApply } from '../system/lock/stop-apply.ts';

test('8 processes acquire a lock 1,000 times each, and one at a time holds it', () =>
  contend({ processes: 8, rounds: 1_000, kills: 0 }));

test('the same while processes are killed', () => contend({ processes: 8, rounds: 300, kills: 60 }));

test('an apply that is stopped for 90 s at any of 20 places rotates each key once', async () => {
  const places = Array.from({ length: 20 }, (_, index) => ({ request: index % 10, afterMs: index < 10 ? 0 : index }));
  const ends: (() => Promise<void>)[] = [];
  onTestFinished(async () => {
    for (const end of ends.reverse()) await end();
  });
  const cleanup = (end: () => Promise<void>) => void ends.push(end);
  const stops = await Promise.allSettled(places.map((place) => stopApply({ ...place, pauseMs: 90_000, cleanup })));
  expect(stops.filter(({ status }) => status === 'rejected')).toEqual([]);
});
