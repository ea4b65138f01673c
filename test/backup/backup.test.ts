import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, chmod, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { ledgerFile } from '../../src/act/ledger.ts';
import { type BackupManifest, MANIFEST } from '../../src/run/backup/manifest.ts';
import { verifyBackup } from '../../src/run/backup/restore.ts';
import { acquireLock } from '../../src/warehouse/lock.ts';
import { tempFolder } from '../helpers/temp.ts';
import { applyHarness } from '../remediation/apply-harness.ts';

const harness = applyHarness({ playbook: 'reap-dead-agents' });

let folder: string;
let data: string;

beforeEach(async () => {
  folder = join(await tempFolder(), 'backup');
  data = join(harness.place.folder, 'data');
});

const backup = async (...words: string[]) => harness.place.tidemark(['backup', '--json', ...words, folder]);
const readManifest = async () => JSON.parse(await readFile(join(folder, MANIFEST), 'utf8')) as BackupManifest;
const filePath = async (path: string) => join(folder, (await readManifest()).folder, path);

/** Applies one action of three. */
async function applyHalf(): Promise<void> {
  await harness.useApprovedPlan();
  await harness.applyFirst();
}

test('a half-applied plan is continued in an empty folder: what was applied is not applied again', async () => {
  const plan = await harness.useApprovedPlan();
  await applyHalf();
  const accept = [
    'findings',
    'accept',
    String(plan.actions[2]?.finding_id),
    '--reason',
    'r',
    '--owner',
    'o',
    '--until',
    '2027-01-01',
  ];
  expect((await harness.place.tidemark(accept)).exit).toBe(0);
  await writeFile(join(data, 'STOP'), '');
  expect((await backup()).json<BackupManifest>().files.map(({ path }) => path)).toEqual([
    ...['warehouse.duckdb', 'ledger.ndjson', `plans/${plan.plan_id}.json`, 'STOP'],
  ]);
  await rename(data, `${data}.lost`);
  expect((await backup('restore')).exit).toBe(0);
  expect((await readdir(data)).sort()).toEqual([
    'STOP',
    'ledger.ndjson',
    'lock',
    'lock.owner',
    'plans',
    'warehouse.duckdb',
  ]);
  expect((await harness.place.tidemark(['playbook', 'apply', plan.plan_id])).exit).toBe(6);
  await rm(join(data, 'STOP'));
  const applied = await harness.place.tidemark(['playbook', 'apply', plan.plan_id, '--json']);
  const { rows } = applied.json<{ rows: { action_id: string; status: string; reason: string | null }[] }>();
  expect(rows.map(({ action_id, status }) => [action_id, status])).toEqual([
    ['a1', 'applied'],
    ['a2', 'applied'],
    ['a3', 'skipped'],
  ]);
  expect(harness.writes()).toHaveLength(2);
  expect((await harness.place.tidemark(['playbook', 'ledger', 'verify'])).exit).toBe(0);
});

test('it is made while a run and an apply hold their locks, and leaves out a line that is being written', async () => {
  await applyHalf();
  const locks = [
    await acquireLock(join(data, 'lock'), 'a run'),
    await acquireLock(join(data, 'apply.lock'), 'an apply'),
  ];
  await appendFile(ledgerFile(data), '{"event":"intent","plan_id"');
  expect((await backup()).exit).toBe(0);
  expect(await readFile(await filePath('ledger.ndjson'), 'utf8')).toMatch(/\}\n$/u);
  for (const lock of locks) await lock.release();
});

test('a ledger that does not continue what the warehouse has seen is not backed up, and the earlier backup stays', async () => {
  await applyHalf();
  expect((await backup()).exit).toBe(0);
  const before = await readManifest();
  await writeFile(ledgerFile(data), '');
  const { exit, stderr } = await backup();
  expect({ exit, stderr }).toEqual({
    exit: 4,
    stderr: expect.stringContaining('the ledger does not belong to the warehouse'),
  });
  expect(await readManifest()).toEqual(before);
  expect((await backup('verify')).exit).toBe(0);
});

test('a second backup replaces the first, and only its owner may read it', async () => {
  await backup();
  const first = await readManifest();
  await backup();
  const second = await readManifest();
  expect(second.folder).not.toBe(first.folder);
  expect((await readdir(folder)).sort()).toEqual([second.folder, 'lock', 'lock.owner', MANIFEST].sort());
  for (const { path } of second.files) expect((await stat(await filePath(path))).mode & 0o077, path).toBe(0);
  expect((await stat(folder)).mode & 0o077).toBe(0);
});

test('what is compared while it is replaced is not called damaged', async () => {
  await applyHalf();
  await backup();
  let isReplacing = true;
  const replace = async () => {
    for (let count = 0; count < 3; count++) expect((await backup()).exit).toBe(0);
    isReplacing = false;
  };
  const verify = async () => {
    while (isReplacing) expect((await verifyBackup(folder)).problems).toEqual([]);
  };
  await Promise.all([replace(), verify()]);
});

test('a folder with anything else is refused, and stays as it is', async () => {
  await mkdir(folder);
  await writeFile(join(folder, 'letters.txt'), 'mine');
  expect(await backup()).toMatchObject({ exit: 6, stderr: expect.stringContaining('letters.txt') });
  expect(await readdir(folder)).toEqual(['letters.txt']);
  await rename(join(folder, 'letters.txt'), join(folder, MANIFEST));
  expect(await backup()).toMatchObject({ exit: 6 });
  expect(await readFile(join(folder, MANIFEST), 'utf8')).toBe('mine');
});

test('the root of a new file system takes a backup', async () => {
  await mkdir(join(folder, 'lost+found'), { recursive: true });
  expect((await backup()).exit).toBe(0);
  expect((await backup('verify')).exit).toBe(0);
});

test.each([
  [
    'is changed',
    async (file: string) => {
      const text = await readFile(file);
      text[text.length - 2] = (text[text.length - 2] ?? 0) ^ 1;
      await chmod(file, 0o600);
      await writeFile(file, text);
    },
    'has another checksum',
  ],
  ['is cut', (file: string) => writeFile(file, ''), 'has 0 bytes instead of'],
  ['is missing', (file: string) => rm(file), 'is missing'],
  [
    'is a link',
    async (file: string) => {
      await rename(file, `${file}.other`);
      await symlink(`${file}.other`, file);
    },
    'is not a file',
  ],
])('a file that %s is found, and nothing is restored', async (_, damage, problem) => {
  await backup();
  await damage(await filePath('warehouse.duckdb'));
  expect(await backup('verify')).toMatchObject({
    exit: 4,
    stderr: expect.stringContaining(`warehouse.duckdb ${problem}`),
  });
  await rename(data, `${data}.kept`);
  const { exit } = await backup('restore');
  expect({ exit, hasWarehouse: existsSync(join(data, 'warehouse.duckdb')) }).toEqual({ exit: 4, hasWarehouse: false });
  await rm(data, { recursive: true });
  await rename(`${data}.kept`, data);
});

test.each([
  ['no manifest', undefined],
  ['half a manifest', '{"format": "tidemark-backup", "version": 1'],
  [
    'a manifest that names a file elsewhere',
    (manifest: BackupManifest) => ({ ...manifest, files: [{ path: '../../x', bytes: 1, sha256: '0'.repeat(64) }] }),
  ],
  ['a manifest without the warehouse', (manifest: BackupManifest) => ({ ...manifest, files: [] })],
  ['one of another version', (manifest: BackupManifest) => ({ ...manifest, version: 2 })],
])('a folder with %s is no backup', async (_, change) => {
  await backup();
  const manifest = await readManifest();
  if (change === undefined) await rm(join(folder, MANIFEST));
  else await writeFile(join(folder, MANIFEST), typeof change === 'string' ? change : JSON.stringify(change(manifest)));
  expect((await backup('verify')).exit).toBe(4);
  expect((await backup('restore')).exit).toBe(4);
});

test('a pipe in place of the manifest is refused, and not waited for', async () => {
  await mkdir(folder);
  execFileSync('mkfifo', [join(folder, MANIFEST)]);
  const refused = {
    exit: 4,
    stderr: expect.stringContaining('manifest.json cannot be read: it is not a regular file'),
  };
  expect(await backup('verify')).toMatchObject(refused);
});

test('a data folder that is not empty is not restored to; what a killed restore left is', async () => {
  await backup();
  expect(await backup('restore')).toMatchObject({ exit: 6, stderr: expect.stringContaining('is not empty') });
  await rename(data, `${data}.kept`);
  await mkdir(join(data, 'restoring', 'plans'), { recursive: true });
  await writeFile(join(data, 'restoring', 'warehouse.duckdb'), 'half');
  expect((await backup('restore')).exit).toBe(0);
  expect(existsSync(join(data, 'restoring'))).toBe(false);
  expect((await harness.place.tidemark(['status'])).exit).toBe(0);
  await rm(data, { recursive: true });
  await rename(`${data}.kept`, data);
});

test('what a killed restore left never lets a later one replace a ledger that was written since', async () => {
  await backup();
  await rename(data, `${data}.kept`);
  expect((await backup('restore')).exit).toBe(0);
  await mkdir(join(data, 'restoring', 'plans'), { recursive: true });
  const ledger = join(data, 'ledger.ndjson');
  await writeFile(ledger, 'later');
  await rm(join(data, 'warehouse.duckdb'));
  expect(await backup('restore')).toMatchObject({ exit: 6, stderr: expect.stringContaining('it has ledger.ndjson') });
  expect(await readFile(ledger, 'utf8')).toBe('later');
  await rm(data, { recursive: true });
  await rename(`${data}.kept`, data);
});

test('without a warehouse there is nothing to back up', async () => {
  await rename(join(data, 'warehouse.duckdb'), join(data, 'elsewhere'));
  expect((await backup()).exit).toBe(3);
  expect(existsSync(folder)).toBe(false);
  await rename(join(data, 'elsewhere'), join(data, 'warehouse.duckdb'));
});

test('what the group may read before, it may read after a restore', async () => {
  await harness.place.configure((config) => {
    config.groupRead = true;
  });
  expect((await backup()).exit).toBe(0);
  await rename(data, `${data}.lost`);
  expect((await backup('restore')).exit).toBe(0);
  const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
  expect(await mode(data)).toBe('750');
  expect(await mode(join(data, 'warehouse.duckdb'))).toBe('440');
  expect(await mode(join(data, 'plans'))).toBe('700');
  await harness.place.configure((config) => {
    delete config.groupRead;
  });
});
