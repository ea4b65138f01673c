import { afterAll, beforeAll, describe, test } from 'vitest';
import { expectTable, expectTables, sourceTables } from '../helpers/expect-table.ts';
import { type TestProject, testProject } from '../helpers/test-project.ts';

describe.each(['spec', 'hashicorp'] as const)('with the flavor %s', (flavor) => {
  let place: TestProject;
  beforeAll(async () => {
    place = await testProject({ flavor, workspaces: 40, cleanup: afterAll });
    await place.pull();
  });

  test.each(sourceTables)('%s holds what the service has, field by field', (table) =>
    expectTable(place, table, flavor),
  );

  test('after nights of changes every table holds what the last one has', async () => {
    for (let night = 0; night < 2; night++) {
      place.sandbox.tick();
      await place.pull();
    }
    await expectTables(place, flavor);
  });

  test('pulled first on night 5, every table holds what the service has', async () => {
    const later = await testProject({ flavor, workspaces: 40 });
    for (let night = 0; night < 5; night++) later.sandbox.tick();
    await later.pull();
    await expectTables(later, flavor);
  });
});
