import { expect, test } from 'vitest';
import type { RunResult } from '../../../src/run/run.ts';
import { type TestProject, testProject } from '../../helpers/test-project.ts';

const POOLS = ['--source', 'agent_pools'];
/** With these, the page is one line of 20 MB. */
const MANY = 40_000;
/** With these, it is more than 60 MB allow. */
const SOME = 12_000;

/** The page of a pool with this many workspaces. */
const createPage = (related: number) =>
  JSON.stringify({
    data: [
      {
        id: 'apool-1',
        type: 'agent-pools',
        attributes: {
          name: 'large',
          'created-at': '2026-01-01T00:00:00Z',
          'organization-scoped': false,
          'agent-count': 1,
        },
        relationships: {
          workspaces: {
            data: Array.from({ length: related }, (_, index) => ({
              id: `ws-${index}`,
              type: 'workspaces',
              links: { related: `/api/v2/${'workspaces/'.repeat(40)}` },
            })),
          },
          'allowed-workspaces': { data: [] },
        },
      },
    ],
    meta: { pagination: { 'current-page': 1, 'next-page': null, 'total-pages': 1, 'total-count': 1 } },
  });

async function large(memoryLimit: string, related: number): Promise<TestProject> {
  const page = createPage(related);
  const place = await testProject({
    workspaces: 5,
    faultHook: ({ path }) =>
      path.endsWith('/agent-pools')
        ? { status: 200, headers: { 'content-type': 'application/vnd.api+json' }, body: page }
        : undefined,
  });
  await place.configure((config) => Object.assign(config, { memoryLimit }));
  return place;
}

const count = async (place: TestProject) =>
  (await place.rows('select count(*) as n from agent_pool_workspaces where pool_id = $pool', { pool: 'apool-1' }))[0]
    ?.n;

test('a page of 20 MB is loaded with the default memory, from two targets at once', async () => {
  const place = await large('1GB', MANY);
  await place.configure((config) => {
    const [first] = config.targets as object[];
    Object.assign(config, { targets: [first, { ...first, name: 'other' }] });
  });
  const result = await place.pull(POOLS);
  const complete = { source: 'agent_pools', status: 'complete', rows: 1, retries: 0 };
  expect(result.json<RunResult>().pulls).toMatchObject([complete, complete]);
  expect(await count(place)).toBe(2 * MANY);
});

test('a load that needs more than `memoryLimit` fails with a hint, and its landing can be loaded later', async () => {
  const place = await large('60MB', SOME);
  const { run_id, pulls } = (await place.pull(POOLS, 3)).json<RunResult>();
  expect(pulls).toMatchObject([{ status: 'failed', retries: 0 }]);
  expect(pulls[0]?.error).toBe(
    `loading needs more memory than 60MB: raise \`memoryLimit\`, then load the landing with \`tidemark pull --from ${run_id}\``,
  );
  await place.configure((config) => Object.assign(config, { memoryLimit: '1GB' }));
  await place.pull([...POOLS, '--from', run_id]);
  expect(await count(place)).toBe(SOME);
});
