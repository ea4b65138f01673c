import { expect, test } from 'vitest';
import type { RunResult } from '../../src/run/run.ts';
import { type TestProject, testProject } from '../helpers/test-project.ts';

async function pull(place: TestProject, ...sources: readonly string[]) {
  return (await place.pull(sources.flatMap((source) => ['--source', source]))).json<RunResult>().pulls;
}

test('counters and times that move by themselves are kept, and make no version', async () => {
  const place = await testProject({ workspaces: 20, flavor: 'hashicorp' });
  const { scheduler, mesh, autoscaler } = place.sandbox.services;
  const sources = ['volumes', 'ca_roots', 'autoscaler_metrics'];
  await pull(place, ...sources);
  for (const allocation of scheduler.state.allocations.values()) allocation.modifyIndex += 1000;
  for (const root of mesh.state.roots) root.ModifyIndex += 1000;
  Object.assign(autoscaler.state, { timestamp: '2026-10-09 08:07:06 +0000 UTC' });
  const unchanged = { status: 'complete', inserted: 0, changed: 0, deleted: 0 };
  expect(await pull(place, ...sources)).toMatchObject(sources.map(() => unchanged));
  expect(await place.rows('select min(modify_index) > 1000 as moved from volume_allocations')).toEqual([
    { moved: true },
  ]);
  expect(await place.rows('select distinct measured_at from autoscaler_metrics')).toEqual([
    { measured_at: '2026-10-09T08:07:06Z' },
  ]);
  const [history] = await place.rows(
    'select count(*) - (select count(*) from volume_allocations) as old from volume_allocations_history',
  );
  expect(history).toEqual({ old: 0 });
});

test('a task that restarts is a change of its allocation', async () => {
  const place = await testProject({ workspaces: 20 });
  await pull(place, 'volumes');
  const [allocation] = [...place.sandbox.services.scheduler.state.allocations.values()].filter(
    ({ clientStatus }) => clientStatus === 'running',
  );
  Object.assign(allocation ?? {}, { clientStatus: 'failed' });
  await pull(place, 'volumes');
  const sql = `select task_states ->> '$.server.Restarts' as restarts from volume_allocations_history where allocation_id = $id order by valid_from`;
  expect(await place.rows(sql, { id: allocation?.id ?? '' })).toEqual([{ restarts: '0' }, { restarts: '2' }]);
});
