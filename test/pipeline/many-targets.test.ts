import { setImmediate, setTimeout } from 'node:timers/promises';
import pLimit from 'p-limit';
import { expect, test } from 'vitest';
import type { Pull } from '../../src/extract/run-context.ts';
import { chooseLimit, limitTargets } from '../../src/extract/target-limit.ts';
import { settleByTarget } from '../../src/run/pull.ts';

const pulls = ['a', 'b', 'c', 'd', 'e'].flatMap((target) =>
  ['keys', 'tokens'].map((source) => ({ target: { name: target }, source: { name: source } }) as unknown as Pull),
);

test('all sources of a target are pulled at once, of a limited number of targets; a failure stops no other', async () => {
  const active: string[] = [];
  let mostTargets = 0;
  let mostPulls = 0;
  const ended: string[] = [];
  const onEnd = async (target: string) => void ended.push(active.includes(target) ? `${target} too early` : target);
  const pullOne = async ({ target, source }: Pull) => {
    active.push(target.name);
    mostTargets = Math.max(mostTargets, new Set(active).size);
    mostPulls = Math.max(mostPulls, active.length);
    for (let turn = 0; turn < 3; turn++) await setImmediate();
    active.splice(active.indexOf(target.name), 1);
    if (target.name === 'b') throw new Error(source.name);
    return `${target.name}/${source.name}`;
  };
  const ends = await settleByTarget(pulls, pLimit(2), (target) => ({ work: pullOne, end: () => onEnd(target) }));
  expect(ended.sort()).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect([mostTargets, mostPulls]).toEqual([2, 4]);
  expect(ends.map((end) => (end.status === 'fulfilled' ? end.value : String(end.reason)))).toEqual([
    ...['a/keys', 'a/tokens', 'Error: keys', 'Error: tokens'],
    ...['c/keys', 'c/tokens', 'd/keys', 'd/tokens', 'e/keys', 'e/tokens'],
  ]);
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
