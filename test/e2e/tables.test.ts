import { afterAll, beforeAll, describe, test } from 'vitest';
import { expectTable, sourceTables } from '../helpers/compare.ts';
import { type Workplace, workplace } from '../helpers/sandbox.ts';

describe.each(['documents', 'hashicorp'] as const)('with the flavor %s', (flavor) => {
  describe.each([0, 5])('pulled first on night %i', (nights) => {
    let place: Workplace;
    beforeAll(async () => {
      place = await workplace({ flavor, workspaces: 80, cleanup: afterAll });
      for (let night = 0; night < nights; night++) place.sandbox.advance();
      await place.pull();
    });

    test.each(sourceTables)('%s holds what the service has, field by field', (table) =>
      expectTable(place, table, flavor),
    );
  });

  test('after nights of changes every table holds what the last one has', async () => {
    const place = await workplace({ flavor, workspaces: 80 });
    for (let night = 0; night < 3; night++) {
      await place.pull();
      place.sandbox.advance();
    }
    await place.pull();
    for (const table of sourceTables) await expectTable(place, table, flavor);
  });
});
