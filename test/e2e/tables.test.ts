import { beforeAll, describe, test } from 'vitest';
import { expectTable, sourceTables } from '../helpers/expect-table.ts';
import { expectedTables } from '../helpers/expected/index.ts';
import { cleanAtEnd } from '../helpers/temp.ts';
import { pulledProject, type TestProject } from '../helpers/test-project.ts';

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
});
