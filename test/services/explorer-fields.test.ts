import { expect, test } from 'vitest';
import { createRowFormatter } from '../../src/extract/sources/explorer/csv-export.ts';
import { explorerQueryEncoder } from '../../src/services/platform/explorer.ts';

test.each(['spec', 'hashicorp'] as const)(
  'a field that every object has by inheritance is sent by its name: %s',
  (flavor) => {
    const args = { type: 'workspaces', filter: 'constructor:is:a', sort: '-valueOf', fields: 'toString,drifted' };
    expect(explorerQueryEncoder.encode(args, flavor)).toEqual([
      ['type', 'workspaces'],
      ['filter[0][constructor][is][0]', 'a'],
      ['sort', '-valueOf'],
      ['fields', 'toString,drifted'],
    ]);
  },
);

test('an attribute that every object has by inheritance is landed by its name', () => {
  const { format } = createRowFormatter('workspaces');
  const row = format([{ attributes: { 'workspace-name': 'api', constructor: 'a' } }]);
  expect(row).toContain('{""constructor"":""a""}');
  expect(row).not.toContain('native code');
});
