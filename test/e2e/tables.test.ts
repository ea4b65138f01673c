import { afterAll, beforeAll, describe, test } from 'vitest';
import { expectTable, sourceTables } from '../helpers/expect-table.ts';
import { type TestProject, testProject } from '../helpers/test-project.ts';

describe.each(['spec', 'hashicorp'] as const)('with the flavor %s', (flavor) => {
  describe.each([0, 5])('pulled first on night %i', (nights) => {
    let place: TestProject;
    beforeAll(async () => {
      place = await testProject({ flavor, workspaces: 80, cleanup: afterAll });
      for (let night = 0; night < nights; night++) place.sandbox.tick();
      await place.pull();
    });

    test.each(sourceTables)('%s holds what the service has, field by field', (table) =>
      expectTable(place, table, flavor),
    );
  });

  test('after nights of changes every table holds what the last one has', async () => {
    const place = await testProject({ flavor, workspaces: 80 });
    for (let night = 0; night < 3; night++) {
      await place.pull();
      place.sandbox.tick();
    }
    await place.pull();
    for (const table of sourceTables) await expectTable(place, table, flavor);
  });
});
