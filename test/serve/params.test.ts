import { expect, test } from 'vitest';
import { fillSavedQuery } from '../../src/ask/query/saved.ts';
import { readParams } from '../../src/ask/serve/results.ts';

/** Every object of JavaScript has `constructor` by inheritance. */
const saved = {
  ...{ name: 'own', title: 'Own', description: '', sql: 'select $constructor' },
  parameters: [{ name: 'constructor', type: 'text', defaultSql: `'a'`, description: '' } as const],
};

test('a parameter that is not given has its default, whatever its name is', () => {
  expect(fillSavedQuery(saved, {}).query).toBe(`select ('a')`);
  expect(fillSavedQuery(saved, { constructor: 'b' }).query).toBe('select ($constructor)');
});

test('an address gives the parameters that it has, and no other', () => {
  const given = readParams(new URL('http://localhost/sql?sql=select&n=1&empty='));
  expect([given.n, given.constructor, given.empty]).toEqual(['1', undefined, undefined]);
});
