import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { type TestProject, testProject } from '../helpers/test-project.ts';

const JOB = {
  pull: ['workspaces', 'agent_pools', 'agents'],
  reports: ['drift'],
  mail: { to: ['a@acme.example'] },
  playbooks: [{ name: 'reap-dead-agents', mode: 'plan' }],
};

/** Runs a job with the most permissive umask. The mail server cannot be reached, so that mail is pending. */
async function runOpenly(place: TestProject): Promise<void> {
  await mkdir(join(place.folder, 'jobs'));
  await writeFile(join(place.folder, 'jobs', 'nightly.yaml'), stringify(JOB));
  await place.configure((config) => {
    config.mail = { smtp: 'smtp://127.0.0.1:1', from: 'reports@acme.example' };
  });
  const before = process.umask(0);
  onTestFinished(() => void process.umask(before));
  const { exit, stderr } = await place.tidemark(['run', 'nightly']);
  expect(exit, stderr).toBe(1);
  await place.tidemark(['mail', 'nightly', '--dry-run']);
}

/** Permissions of files and folders below a folder, by path. Those within a private folder cannot be reached by others. */
async function readModes(root: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(root, { recursive: true });
  const modes = new Map<string, string>();
  for (const name of entries) modes.set(name, ((await stat(join(root, name))).mode & 0o777).toString(8));
  return modes;
}

test('landing, working file, plans and reports are readable by their owner alone, whatever the umask is', async () => {
  const place = await testProject({ workspaces: 10, warehouse: 'none' });
  await runOpenly(place);
  const data = await readModes(join(place.folder, 'data'));
  const output = await readModes(join(place.folder, 'out'));
  for (const [name, mode] of [...data, ...output]) expect(`${name} ${mode}`).toMatch(/ (?:[46]00|700)$/u);
  expect(data.get('warehouse.duckdb')).toBe('400');
  expect([...data.keys()].filter((name) => name.startsWith('plans/'))).toHaveLength(1);
  expect([...output.keys()]).toEqual(expect.arrayContaining(['drift.html', 'mail/nightly.a@acme.example.eml']));
});

test('`groupRead` lets the group read the published warehouse, and nothing else', async () => {
  const place = await testProject({ workspaces: 10 });
  const data = join(place.folder, 'data');
  await chmod(data, 0o700);
  await mkdir(join(data, 'plans'), { mode: 0o755 });
  await place.configure((config) => {
    config.groupRead = true;
  });
  await place.pull(['--target', 'scaler']);
  const modes = await readModes(data);
  expect([modes.get('warehouse.duckdb'), modes.get('plans'), modes.get('work')]).toEqual(['440', '700', '700']);
  expect(((await stat(data)).mode & 0o777).toString(8)).toBe('750');
});
