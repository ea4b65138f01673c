import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testProject } from '../helpers/test-project.ts';
import { buildPackage, type Child, start } from './child.ts';
import { readContents, hashFile, findInconsistencies } from './warehouse-checks.ts';

const KILLS = 50;
/** After so many kills, one run completes and the sandbox advances a day. */
const EACH = 10;
const TARGET = ['--target', 'acme'];

test('after a kill at any time, the published warehouse is the old or the new one, and the next run completes', async () => {
  const command = await buildPackage();
  const place = await testProject({ workspaces: 30 });
  const published = join(place.folder, 'data', 'warehouse.duckdb');
  const pull = (): Child => start(command, ['pull', ...TARGET, '--now', place.sandbox.now.toISOString()], place.folder);
  const whole = await pull().ended;
  expect(whole.exit, whole.stderr).toBe(0);

  const moments = { old: 0, new: 0 };
  for (let kill = 1; kill <= KILLS; kill++) {
    const before = await hashFile(published);
    if (kill % EACH === 1) place.sandbox.tick();
    const child = pull();
    const afterMs = Math.random() * whole.afterMs;
    const timer = setTimeout(() => child.process.kill('SIGKILL'), afterMs);
    const { stderr } = await child.ended;
    clearTimeout(timer);
    const details = `kill ${kill}, after ${afterMs.toFixed(0)} of ${whole.afterMs.toFixed(0)} ms:\n${stderr}`;

    if ((await hashFile(published)) === before) moments.old++;
    else {
      moments.new++;
      expect(await findInconsistencies(published), details).toEqual([]);
    }
    if (kill % EACH > 0) continue;
    const next = await pull().ended;
    expect(next.exit, `${details}${next.stderr}`).toBe(0);
    expect(await findInconsistencies(published), details).toEqual([]);
  }
  expect(moments.old, 'the old one stayed at least once').toBeGreaterThan(0);

  const other = await testProject({ workspaces: 30 });
  while (other.sandbox.day < place.sandbox.day) other.sandbox.tick();
  await other.pull(TARGET);
  expect(await readContents(published)).toEqual(await readContents(join(other.folder, 'data', 'warehouse.duckdb')));
}, 300_000);
