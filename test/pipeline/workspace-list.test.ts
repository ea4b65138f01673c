import { expect, test } from 'vitest';
import type { RunResult } from '../../src/run/run.ts';
import { testProject } from '../helpers/test-project.ts';

/** What the explorer alone tells of a workspace. */
const UNKNOWN = [
  'all_checks_succeeded',
  'checks_errored',
  'checks_failed',
  'checks_passed',
  'checks_unknown',
  'current_rum_count',
  'drifted',
  'module_count',
  'modules',
  'provider_count',
  'providers',
  'resources_drifted',
  'resources_undrifted',
  'state_version_iac_version',
];
const KNOWN = `* exclude (${UNKNOWN.join(', ')}, extra)`;

test('the list of workspaces has the rows of the explorer, but for the columns that the explorer alone tells', async () => {
  const place = await testProject({ workspaces: 250, flavor: 'hashicorp' });
  const rows = () => place.rows(`select ${KNOWN} from workspaces order by external_id`);
  const versions = () => place.rows('select * exclude (extra) from tf_versions order by version');
  const words = ['--source', 'workspaces', '--source', 'tf_versions'];
  await place.pull(words);
  const told = { rows: await rows(), versions: await versions() };
  expect(told.rows).toHaveLength(250);
  await place.configure(({ targets }) => Object.assign(targets[0] ?? {}, { explorer: 'workspaces' }));
  const { pulls } = (await place.pull(words)).json<RunResult>();
  expect(pulls).toMatchObject([
    { source: 'workspaces', status: 'complete', requests: 3 },
    { source: 'tf_versions', status: 'complete', requests: 3 },
  ]);
  expect({ rows: await rows(), versions: await versions() }).toEqual(told);
  expect(await place.rows(`select distinct ${UNKNOWN.join(', ')} from workspaces`)).toEqual([
    Object.fromEntries(UNKNOWN.map((name) => [name, null])),
  ]);
  const [state] = await place.rows("select unknown_columns from source_state where source = 'workspaces'");
  console.log(state);
  console.log(await place.rows('select target, source, status, error from source_state'));
  console.log(await place.rows('from changes'));
});
