import { share } from '../helpers/temp.ts';
import { prepareProject, type TestProject, testProject } from '../helpers/test-project.ts';

const SIZE = { workspaces: 10 };

/** A project of two runs for the tests of a file, which only read its warehouse. In the second run the root certificate has another name. */
export function shareSqlProject(): () => Promise<TestProject> {
  return share(async (cleanup) => {
    const place = await testProject({ ...SIZE, cleanup, from: await prepareProject('sql', SIZE, pullTwice) });
    place.sandbox.tick();
    return place;
  });
}

async function pullTwice(place: TestProject): Promise<void> {
  const { roots } = place.sandbox.services.mesh.state;
  roots.splice(1);
  roots[0] = {
    ...roots[0]!,
    Name: 'a "b" |c|\n<d>, é',
    SerialNumber: 2n ** 64n - 1n,
    NotBefore: '2026-09-05T23:15:00Z',
  };
  await place.pull(['--source', 'ca_roots']);
  place.sandbox.tick();
  roots[0] = { ...roots[0]!, Name: 'later' };
  await place.pull(['--source', 'ca_roots', '--source', 'leaf_certificates']);
}

/** As of the first run. */
export const ROOT = [
  '--as-of',
  '2026-10-01T12:00:00Z',
  'select name, serial_number, not_before, active, extra from ca_roots',
];
