import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { findManifest } from '../../../src/run/backup/manifest.ts';
import { verifyBackup } from '../../../src/run/backup/restore.ts';
import { appendActions } from '../../helpers/old-ledger.ts';
import { playbookHarness } from '../../helpers/playbook-harness.ts';
import { tempFolder } from '../../helpers/temp.ts';
import { testProject } from '../../helpers/test-project.ts';
import { killAtWrites } from './kill-at-writes.ts';

async function projectWithPlan() {
  const place = await playbookHarness({ playbook: 'reap-dead-agents' });
  await place.plan(['--max-percent', '100']);
  await place.approve();
  await place.apply();
  return { place, data: join(place.folder, 'data'), folder: join(await tempFolder(), 'backup') };
}

/** A backup that is killed leaves the earlier one, or none. */
export async function killBackups(every: number): Promise<void> {
  const { place, folder } = await projectWithPlan();
  let earlier: string | undefined;
  const check = async () => {
    const manifest = existsSync(folder) ? await findManifest(folder) : undefined;
    if (earlier !== undefined) expect(manifest).toBeDefined();
    if (manifest) expect((await verifyBackup(folder)).problems).toEqual([]);
  };
  expect(await killAtWrites(every, ['backup', folder], place.folder, check)).toBeGreaterThan(5);
  earlier = (await findManifest(folder))?.folder;
  expect(await killAtWrites(every, ['backup', folder], place.folder, check)).toBeGreaterThan(5);
  expect((await readdir(folder)).filter((name) => name.startsWith('files-'))).toHaveLength(1);
}

/** A restore that is killed leaves no warehouse, and begins again; with the warehouse it is whole. */
export async function killRestores(every: number): Promise<void> {
  const { place, data, folder } = await projectWithPlan();
  expect((await place.tidemark(['backup', folder])).exit).toBe(0);
  const ledger = await readFile(join(data, 'ledger.ndjson'), 'utf8');
  await rename(data, `${data}.lost`);
  const check = async () => {
    if (!existsSync(join(data, 'warehouse.duckdb'))) return;
    expect(await readFile(join(data, 'ledger.ndjson'), 'utf8')).toBe(ledger);
    expect(await readdir(join(data, 'plans'))).toEqual(await readdir(join(`${data}.lost`, 'plans')));
    expect((await place.tidemark(['playbook', 'ledger', 'verify'])).exit).toBe(0);
    await rm(data, { recursive: true }); // for the next kill
  };
  expect(await killAtWrites(every, ['backup', 'restore', folder], place.folder, check)).toBeGreaterThan(5);
}

const LATE = ['--now', '2027-06-20T03:00:00Z'];

/** A prune that is killed leaves a ledger that is sound, old or new, and is carried out by the next one. */
export async function killPrunes(every: number): Promise<void> {
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
  // From then on, the warehouse refuses every ledger that does not continue this one.
  expect((await project.tidemark(['playbook', 'ledger', '--accept', ...LATE])).exit).toBe(0);
  const states = new Set<string>();
  const writes = await killAtWrites(every, ['prune', '--yes', ...LATE], project.folder, async () => {
    const { exit, stdout } = await project.tidemark(['playbook', 'ledger', 'verify', ...LATE]);
    expect(exit, stdout).toBe(0);
    const text = await readFile(join(data, 'ledger.ndjson'), 'utf8');
    states.add(text.split('\n')[0]?.includes('pruned') ? 'new' : 'old');
    expect(text).toContain('00000002');
    expect(text).toContain('00000003');
  });
  expect(writes).toBeGreaterThan(10);
  expect([...states]).toEqual(['old', 'new']);
  expect((await project.tidemark(['playbook', 'ledger', '--json', ...LATE])).json()).toHaveLength(2);
  expect(await project.rows('select count(*)::int as n from actions')).toEqual([{ n: 2 }]);
}
