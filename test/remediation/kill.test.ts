import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { listWrites, playbookHarness } from '../helpers/playbook-harness.ts';

/** The built command, because the test kills a process; `npm run check` builds it. */
const COMMAND = join(PACKAGE_ROOT, 'bin', 'tidemark.js');
const isBuilt = existsSync(join(PACKAGE_ROOT, 'dist', 'remediation', 'apply.js'));

const KILL_POINTS = ['before the service acts', 'after the service acted'] as const;

test.skipIf(!isBuilt).each(KILL_POINTS)(
  'killed with SIGKILL %s, an apply is completed by the next one',
  async (killPoint) => {
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
    child = spawn(process.execPath, [COMMAND, 'playbook', 'apply', place.planFile, '--now', now], {
      cwd: place.folder,
    });
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
  },
);
