import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { appendActions } from '../../helpers/old-ledger.ts';
import { testProject } from '../../helpers/test-project.ts';
import { killAtEachWrite } from './kill-at-each-write.ts';

const LATE = ['--now', '2027-06-20T03:00:00Z'];

test('a prune that is killed leaves a ledger that is sound, old or new, and is carried out by the next one', async () => {
  const project = await testProject({ workspaces: 10 });
  for (const night of ['2026-10-01', '2026-10-02', '2026-10-03', '2027-06-19']) {
    await project.pull(['--source', 'ca_roots', '--now', `${night}T02:15:00Z`]);
  }
  await project.configure((config) => {
    config.historyDays = 35;
  });
  const data = join(project.folder, 'data');
  await appendActions(data, [
    { plan: 'p-20260901T000000Z-00000001', day: '2026-09-01', status: 'applied' },
    { plan: 'p-20260901T000000Z-00000002', day: '2026-09-01' },
    { plan: 'p-20270601T000000Z-00000003', day: '2027-06-01', status: 'applied' },
  ]);
  const states = new Set<string>();
  const kills = await killAtEachWrite(['prune', '--yes', ...LATE], project.folder, async () => {
    const { exit, stdout } = await project.tidemark(['playbook', 'ledger', 'verify', ...LATE]);
    expect(exit, stdout).toBe(0);
    const text = await readFile(join(data, 'ledger.ndjson'), 'utf8');
    states.add(text.split('\n')[0]?.includes('pruned') ? 'new' : 'old');
    expect(text).toContain('00000002');
    expect(text).toContain('00000003');
  });
  expect(kills).toBeGreaterThan(10);
  expect([...states]).toEqual(['old', 'new']);
  expect((await project.tidemark(['playbook', 'ledger', '--json', ...LATE])).json()).toHaveLength(2);
  expect(await project.rows('select count(*)::int as n from actions')).toEqual([{ n: 2 }]);
});
