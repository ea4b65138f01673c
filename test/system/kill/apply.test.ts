import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { buildCommand, startCommand } from '../../helpers/built-command.ts';
import { listWrites, playbookHarness } from '../../helpers/playbook-harness.ts';

const KILL_POINTS = ['before the service acts', 'after the service acted'] as const;

test.each(KILL_POINTS)('killed with SIGKILL %s, an apply is completed by the next one', async (killPoint) => {
  const command = await buildCommand();
  let child: ChildProcess | undefined;
  let deletes = 0;
  const place = await playbookHarness({
    playbook: 'reap-dead-agents',
    faultHook: ({ method, params, path }, { state }) => {
      if (method !== 'DELETE' || child === undefined || ++deletes !== 2) return undefined;
      const { agents } = state as typeof place.sandbox.services.platform.state;
      const id = params.id ?? path.split('/').at(-1);
      if (killPoint === 'after the service acted')
        agents.splice(
          agents.findIndex((agent) => agent.id === id),
          1,
        );
      child.kill('SIGKILL');
      return { status: 204 };
    },
  });
  const plan = await place.plan();
  await place.approve();
  const now = place.sandbox.now.toISOString();
  child = startCommand(command, ['playbook', 'apply', place.planFile, '--now', now], place.folder).process;
  const [code, signal] = await once(child, 'exit');
  expect([code, signal]).toEqual([null, 'SIGKILL']);
  child = undefined;
  expect((await place.ledger()).map(({ status, finished_at }) => [status, finished_at === null])).toEqual([
    ['applied', false],
    ['unconfirmed', true],
  ]);

  place.sandbox.log.length = 0;
  const { rows } = (await place.apply()).json<{ rows: { status: string }[] }>();
  expect(rows.map(({ status }) => status)).toEqual(['applied', 'applied', 'applied']);
  expect(listWrites(place.sandbox.log)).toHaveLength(killPoint === 'after the service acted' ? 1 : 2);
  const planned = plan.actions.map(({ params }) => params.id);
  expect(place.sandbox.services.platform.state.agents.filter(({ id }) => planned.includes(id))).toEqual([]);
});
