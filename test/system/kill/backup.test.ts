import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findManifest } from '../../../src/run/backup/manifest.ts';
import { verifyBackup } from '../../../src/run/backup/restore.ts';
import { playbookHarness } from '../../helpers/playbook-harness.ts';
import { tempFolder } from '../../helpers/temp.ts';
import { killAtEachWrite } from './kill-at-each-write.ts';

async function projectWithPlan() {
  const place = await playbookHarness({ playbook: 'reap-dead-agents' });
  await place.plan(['--max-percent', '100']);
  await place.approve();
  await place.apply();
  return { place, data: join(place.folder, 'data'), folder: join(await tempFolder(), 'backup') };
}

test('a backup that is killed leaves the earlier one, or none', async () => {
  const { place, folder } = await projectWithPlan();
  let earlier: string | undefined;
  const check = async () => {
    const manifest = existsSync(folder) ? await findManifest(folder) : undefined;
    if (earlier !== undefined) expect(manifest).toBeDefined();
    if (manifest) expect((await verifyBackup(folder)).problems).toEqual([]);
  };
  expect(await killAtEachWrite(['backup', folder], place.folder, check)).toBeGreaterThan(5);
  earlier = (await findManifest(folder))?.folder;
  expect(await killAtEachWrite(['backup', folder], place.folder, check)).toBeGreaterThan(5);
  expect((await readdir(folder)).filter((name) => name.startsWith('files-'))).toHaveLength(1);
});

test('a restore that is killed leaves no warehouse, and begins again; with the warehouse it is whole', async () => {
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
  expect(await killAtEachWrite(['backup', 'restore', folder], place.folder, check)).toBeGreaterThan(5);
});
