import { beforeAll, describe, test } from 'vitest';
import { expectTable, expectTables, sourceTables } from '../helpers/expect-table.ts';
import { expectedTables } from '../helpers/expected/index.ts';
import { cleanAtEnd } from '../helpers/temp.ts';
import { pulledProject, type TestProject, testProject } from '../helpers/test-project.ts';

describe.each(['spec', 'hashicorp'] as const)('with the flavor %s', (flavor) => {
  const atEnd = cleanAtEnd();
  let place: TestProject;
  let expected: ReturnType<typeof expectedTables>;
  beforeAll(async () => {
    place = await pulledProject({ flavor, cleanup: atEnd });
    expected = expectedTables(place.sandbox, flavor);
  });

  test.each(sourceTables)('%s holds what the service has, field by field', (table) =>
    expectTable(place, table, flavor, expected),
  );

  test('after nights of changes every table holds what the last one has', async () => {
    for (let night = 0; night < 3; night++) place.sandbox.tick();
    await place.pull();
    await expectTables(place, flavor);
  });

  test('pulled first on night 5, every table holds what the service has', async () => {
    const later = await testProject({ flavor, workspaces: 25 });
    for (let night = 0; night < 5; night++) later.sandbox.tick();
    await later.pull();
    await expectTables(later, flavor);
  });
});
