import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { chooseShard } from '../../../src/config/config.ts';
import { createDirectoryStore } from '../../../src/lake/store.ts';
import type { Row } from '../../../src/warehouse/values.ts';
import { openLakeViews } from '../../helpers/lake-views.ts';
import { cleanAtEnd } from '../../helpers/temp.ts';
import { type TestProject, testProject } from '../../helpers/test-project.ts';

const atEnd = cleanAtEnd();

/** The platform is in shard 1, the other services are in shard 2, and shard 3 has no target. */
const SHARDS = 3;
const SOURCES = ['workspaces', 'keys', 'acl_policies'];
const PULL = ['pull', '--json', ...SOURCES.flatMap((source) => ['--source', source])];

/** The name of a credential that is in the shard. */
function nameCredential(shard: number): string {
  for (let index = 0; ; index++) if (chooseShard(`credential-${index}`, SHARDS) === shard) return `credential-${index}`;
}

let project: TestProject;
beforeAll(async () => {
  project = await testProject({ workspaces: 20, cleanup: atEnd });
  await project.configure((config) => {
    config.lake = 'lake';
    for (const target of config.targets) target.credential = nameCredential(target.kind === 'platform' ? 1 : 2);
  });
});

async function pullShards(...shards: readonly number[]): Promise<void> {
  for (const shard of shards) {
    const { exit, stderr } = await project.tidemark(['--shard', `${shard}/${SHARDS}`, ...PULL]);
    expect([shard, exit, stderr.includes('error')]).toEqual([shard, 0, false]);
  }
}

async function close(exit: number) {
  const run = await project.tidemark(['lake', 'close', '--shards', String(SHARDS), '--json']);
  expect([run.exit, run.stderr.includes('internal')]).toEqual([exit, false]);
  return JSON.parse(run.stdout) as Record<string, unknown>;
}

/** What readers of the lake see. */
async function readLake(sql: string): Promise<readonly Row[]> {
  const store = createDirectoryStore(join(project.folder, 'lake'));
  const engine = await openLakeViews(store);
  try {
    return await engine.rows(sql);
  } finally {
    engine.close();
  }
}

const WORKSPACES = 'select target, external_id, workspace_name from workspaces order by all';
const COUNTS = `
  select (select count(*) from workspaces) as workspaces, (select count(*) from keys) as keys,
    (select count(*) from acl_policies) as policies, (select count(distinct target) from source_state) as targets`;
const RUNS = 'select count(*) as runs, count(distinct run_id) as ids from runs';

describe('shards', () => {
  test('are invisible until they are closed', async () => {
    await pullShards(1, 2, 3);
    await expect(readLake(WORKSPACES)).rejects.toThrow(/does not exist/u);
    expect(await close(0)).toMatchObject({ closed: [1, 2, 3], known: [], missing: [], refused: [] });
    expect(await readLake(COUNTS)).toMatchObject([{ workspaces: 20 }]);
  });

  test('are closed once, however often they are closed', async () => {
    expect(await close(0)).toMatchObject({ closed: [], known: [1, 2, 3] });
    expect(await readLake(RUNS)).toEqual([{ runs: 3, ids: 3 }]);
  });

  test('that are missing leave their targets as they were, and can be closed later', async () => {
    const before = await readLake(COUNTS);
    project.sandbox.tick();
    await pullShards(1, 3);
    expect(await close(1)).toMatchObject({ closed: [1, 3], missing: [2], refused: [] });
    expect(await readLake(RUNS)).toEqual([{ runs: 5, ids: 5 }]);
    expect(await close(1)).toMatchObject({ closed: [], known: [1, 3], missing: [2] });
    const now = await readLake(COUNTS);
    expect(now).toMatchObject([{ keys: before[0]?.keys, policies: before[0]?.policies, targets: before[0]?.targets }]);
    await pullShards(2);
    const [one, two] = await Promise.all([close(0), close(0)]);
    expect([...(one.closed as number[]), ...(two.closed as number[])]).toContain(2);
    expect(await readLake(RUNS)).toEqual([{ runs: 6, ids: 6 }]);
    const { stdout } = await project.tidemark(['lake', 'verify', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ problems: [] });
  });

  test('restore each their own warehouse', async () => {
    const data = join(project.folder, 'data', 'shards', '2');
    const query =
      'select count(*) as pulls, count(distinct target) as targets, (select count(*) from keys) as keys from pulls';
    const count = ['--shard', `2/${SHARDS}`, 'sql', '--json', query];
    const before = (await project.tidemark(count)).stdout;
    await rm(data, { recursive: true });
    const restored = await project.tidemark(['--shard', `2/${SHARDS}`, 'lake', 'restore']);
    expect([restored.exit, restored.stderr]).toEqual([0, '']);
    expect((await project.tidemark(count)).stdout).toBe(before);
  });

  test('make the lake that one process makes', async () => {
    const [workspaces, counts] = [await readLake(WORKSPACES), await readLake(COUNTS)];
    await rm(join(project.folder, 'lake'), { recursive: true });
    await project.pull(SOURCES.flatMap((source) => ['--source', source]));
    expect(await readLake(WORKSPACES)).toEqual(workspaces);
    expect(await readLake(COUNTS)).toEqual(counts);
  });

  test('have nothing to pull where their targets have none of the selected sources', async () => {
    const { exit, stderr } = await project.tidemark(['--shard', `2/${SHARDS}`, 'pull', '--source', 'workspaces']);
    expect([exit, stderr.includes('error')]).toEqual([0, false]);
  });
});
