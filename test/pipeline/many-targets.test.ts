import { setImmediate, setTimeout } from 'node:timers/promises';
import pLimit from 'p-limit';
import { expect, test } from 'vitest';
import type { Pull } from '../../src/extract/run-context.ts';
import { chooseLimit, limitTargets } from '../../src/extract/target-limit.ts';
import { mapTargets } from '../../src/run/pull.ts';

const pulls = ['a', 'b', 'c', 'd', 'e'].flatMap((target) =>
  ['keys', 'tokens'].map((source) => ({ target: { name: target }, source: { name: source } }) as unknown as Pull),
);

test('all sources of a target are pulled at once, of a limited number of targets', async () => {
  const active: string[] = [];
  let mostTargets = 0;
  let mostPulls = 0;
  const pullOne = async ({ target, source }: Pull) => {
    active.push(target.name);
    mostTargets = Math.max(mostTargets, new Set(active).size);
    mostPulls = Math.max(mostPulls, active.length);
    for (let turn = 0; turn < 3; turn++) await setImmediate();
    active.splice(active.indexOf(target.name), 1);
    return `${target.name}/${source.name}`;
  };
  const ends = await mapTargets(pulls, pLimit(2), (own) => Promise.all(own.map(pullOne)));
  expect([mostTargets, mostPulls]).toEqual([2, 4]);
  expect(ends).toEqual(pulls.map(({ target, source }) => `${target.name}/${source.name}`));
});

test.each([
  { current: 8, processors: 0.1, next: 16, what: 'waits' },
  { current: 32, processors: 0, next: 32, what: 'waits, with the most' },
  { current: 16, processors: 0.7, next: 16, what: 'is neither idle nor busy' },
  { current: 32, processors: 1.5, next: 24, what: 'is busy' },
  { current: 8, processors: 1.5, next: 8, what: 'is busy, with the least' },
])('a process that $what has $next targets at once after $current', ({ current, processors, next }) => {
  expect(chooseLimit(current, processors)).toBe(next);
});

test('a process that waits works on more targets', async () => {
  const { limit, stop } = limitTargets();
  const started = new Set<number>();
  const ended = new AbortController();
  const targets = limit.map(Array.from({ length: 20 }).keys(), async (target) => {
    started.add(target);
    await setTimeout(60_000, undefined, { signal: ended.signal, ref: false }).catch(() => undefined);
  });
  await setImmediate();
  expect(started.size).toBe(8);
  while (started.size < 20) await setTimeout(50);
  stop();
  ended.abort();
  await targets;
});
