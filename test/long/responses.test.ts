import { beforeAll, describe, test } from 'vitest';
import { cleanAtEnd } from '../helpers/temp.ts';
import { type FaultyProject, faultyProject, KINDS } from '../system/faults/faulty-project.ts';
import { expectFailures, expectRetries, getFault, RESPONSE_FAULTS } from '../system/faults/response-faults.ts';

const atEnd = cleanAtEnd();
let place: FaultyProject;
beforeAll(async () => {
  place = await faultyProject(atEnd);
}, 120_000);

describe.each(RESPONSE_FAULTS)('when $name, in every kind of source that it can be in', (fault) => {
  const byKind = new Map(KINDS.filter((kind) => getFault(fault, kind)).map((kind) => [kind, fault]));

  test('always, the sources fail with the reason and leave their tables unchanged; the exit code is 1', () =>
    expectFailures(place, byKind));

  test('once, they are retried if that can help', () => expectRetries(place, byKind));
});
