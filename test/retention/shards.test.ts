import { expect, test } from 'vitest';
import { testProject } from '../helpers/test-project.ts';

const SHARDS = [1, 2];
const NIGHTS = ['2026-10-01', '2026-10-02', '2026-10-03', '2026-10-04', '2027-06-19'];
const at = (night: string) => ['--now', `${night}T02:15:00Z`];

test('the history of a shard goes once its runs are closed in the lake, which keeps all of it', async () => {
  const project = await testProject({ workspaces: 10 });
  await project.configure((config) => {
    config.lake = 'lake';
    config.historyDays = 35;
  });
  const run = async (...words: readonly string[]) => {
    const { exit, stdout, stderr } = await project.tidemark(words);
    expect([words, exit], stderr).toEqual([words, 0]);
    return stdout;
  };
  const inShards = async (...words: readonly string[]) => {
    const texts: string[] = [];
    for (const shard of SHARDS) texts.push(await run('--shard', `${shard}/${SHARDS.length}`, ...words));
    return texts;
  };
  const close = (night: string) =>
    run('lake', 'close', '--shards', String(SHARDS.length), '--run', night, ...at(night));
  /** The versions of the root whose name changes each night, in the shard that has its target. */
  const versions = async () => {
    const texts = await inShards(
      'sql',
      '--json',
      "select name from ca_roots_history where name like 'of %' order by name",
    );
    return texts.flatMap((text) => (JSON.parse(text) as { name: string }[]).map(({ name }) => name.slice(3)));
  };
  for (const night of NIGHTS) {
    const { roots } = project.sandbox.services.mesh.state;
    if (roots[0]) roots[0] = { ...roots[0], Name: `of ${night}` };
    await inShards('pull', '--source', 'ca_roots', ...at(night));
    if (night < '2026-10-03') await close(night);
  }
  await inShards('prune', '--yes', ...at('2027-06-20'));
  expect(await versions()).toEqual(NIGHTS);
  for (const night of NIGHTS.slice(2)) await close(night);
  await inShards('prune', '--yes', ...at('2027-06-20'));
  expect(await versions()).toEqual(NIGHTS.slice(1));
  expect(await run('lake', 'verify')).toContain('all complete');
});
