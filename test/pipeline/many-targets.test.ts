import { setImmediate } from 'node:timers/promises';
import pLimit from 'p-limit';
import { expect, test } from 'vitest';
import type { Pull } from '../../src/extract/run-context.ts';
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
