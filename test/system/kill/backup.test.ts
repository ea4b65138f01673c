import { copyFile, cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { FaultHook } from '../../../sandbox/router.ts';
import { verifyBackup } from '../../../src/run/backup/restore.ts';
import { buildCommand, startCommand } from '../../helpers/built-command.ts';
import { cli } from '../../helpers/cli.ts';
import { listWrites, playbookHarness } from '../../helpers/playbook-harness.ts';
import { tempFolder } from '../../helpers/temp.ts';
import { killBackups, killRestores } from './kill-writers.ts';

test('a backup that is killed leaves the earlier one, or none', () => killBackups(16));

test('a restore that is killed leaves no warehouse, and begins again; with the warehouse it is whole', () =>
  killRestores(16));

/** A plan of which one action is applied, and the rest is not. */
async function projectWithHalfAppliedPlan(hooks: { current: FaultHook | undefined }) {
  const place = await playbookHarness({
    playbook: 'reap-dead-agents',
    faultHook: (request, service) => hooks.current?.(request, service),
  });
  const plan = await place.plan(['--max-percent', '100']);
  await place.approve();
  const stop = new AbortController();
  hooks.current = ({ method }) => void (method === 'DELETE' && stop.abort());
  await place.tidemark(['playbook', 'apply', place.planFile], { signal: stop.signal });
  hooks.current = undefined;
  expect(listWrites(place.sandbox.log)).toHaveLength(1);
  return { place, plan };
}

test('backups that are made while a run pulls and publishes are restored elsewhere, where a half-applied plan goes on', async () => {
  const hooks: { current: FaultHook | undefined } = { current: undefined };
  const { place, plan } = await projectWithHalfAppliedPlan(hooks);
  const command = await buildCommand();
  const now = ['--now', place.sandbox.now.toISOString()];
  const folders = [join(await tempFolder(), 'backup'), join(await tempFolder(), 'backup')] as const;
  const backUp = async (folder: string) => {
    const { exit, stderr } = await startCommand(command, ['backup', folder], place.folder).ended;
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  };
  const running = startCommand(command, ['run', 'playbook', ...now], place.folder);
  // The run stands still in the middle of its pull, with the lock of the warehouse.
  await new Promise<void>((resolve) => {
    hooks.current = () => {
      running.process.kill('SIGSTOP');
      hooks.current = undefined;
      resolve();
      return undefined;
    };
  });
  await backUp(folders[0]);
  expect(await readdir(join(place.folder, 'data', 'landing'))).not.toEqual([]);
  running.process.kill('SIGCONT');
  const [{ exit, stderr }] = await Promise.all([running.ended, backUp(folders[1])]);
  expect(exit, stderr).toBe(0);

  for (const folder of folders) {
    expect((await verifyBackup(folder)).problems).toEqual([]);
    const cwd = await tempFolder();
    await copyFile(join(place.folder, 'tidemark.yaml'), join(cwd, 'tidemark.yaml'));
    await cp(join(place.folder, 'jobs'), join(cwd, 'jobs'), { recursive: true });
    const there = async (...words: string[]) => {
      const run = await cli([...words, ...now], { cwd });
      expect(run.exit, `${words.join(' ')}\n${run.stdout}\n${run.stderr}`).toBe(0);
      return run;
    };
    await there('backup', 'restore', folder);
    await there('playbook', 'apply', plan.plan_id);
    await there('playbook', 'ledger', 'verify');
    await there('run', 'playbook');
  }
  expect(listWrites(place.sandbox.log)).toHaveLength(plan.actions.length);
});
