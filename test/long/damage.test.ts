import { beforeAll, describe, test } from 'vitest';
import type { LakeProject } from '../helpers/lake-project.ts';
import { cleanAtEnd } from '../helpers/temp.ts';
import { DAMAGES, expectSaid, fourPublishes } from '../system/lake/damages.ts';

const atEnd = cleanAtEnd();
let project: LakeProject;

beforeAll(async () => {
  project = await fourPublishes(atEnd);
});

describe.each(DAMAGES)('when $name', (damage) => {
  test.each(['verify', 'restore', 'publish', 'close'] as const)('lake %s says so, and adds nothing', (command) =>
    expectSaid(project, damage, command),
  );
});
