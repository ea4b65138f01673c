import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { settleByTarget } from '../../src/pipeline/pull.ts';
import type { Pull } from '../../src/pipeline/run.ts';

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
  const ends = await settleByTarget(pulls, 2, pullOne, onEnd);
  expect(ended.sort()).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect([mostTargets, mostPulls]).toEqual([2, 4]);
  expect(ends.map((end) => (end.status === 'fulfilled' ? end.value : String(end.reason)))).toEqual([
    ...['a/keys', 'a/tokens', 'Error: keys', 'Error: tokens'],
    ...['c/keys', 'c/tokens', 'd/keys', 'd/tokens', 'e/keys', 'e/tokens'],
  ]);
});
