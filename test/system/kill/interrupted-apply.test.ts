import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { ledgerFile } from '../../../src/act/ledger.ts';
import { copyState, listWrites, playbookHarness, replaceLedger, restoreState } from '../../helpers/playbook-harness.ts';
import { applyHarness } from '../../remediation/apply-harness.ts';
import { killBetweenStates } from './kill-between-states.ts';

/** A kill leaves the ledger up to some byte, and a service that did, or did not do, what was sent last. */

describe('an action that a read can verify', () => {
  const harness = applyHarness({ playbook: 'reap-dead-agents', updatesTable: false });
  const data = () => `${harness.place.folder}/data`;

  test('killed between any two states, it is applied once', () => killBetweenStates(harness, false));

  test('interrupted, and its subject drifted since: unconfirmed', async () => {
    const plan = await harness.useApprovedPlan();
    await harness.apply();
    const [intent] = (await readFile(ledgerFile(data()), 'utf8')).split('\n');
    await writeFile(ledgerFile(data()), `${intent}\n`);
    harness.reset((agents) => agents);
    harness.findAgent(plan, 0).status = 'busy';
    const applied = await harness.apply([], 1);
    expect(harness.statuses(applied)[0]).toEqual([
      'unconfirmed',
      'interrupted; its status is busy: check the subject; a new plan may repeat it 24 hours after it was started',
    ]);
  });

  test('interrupted, and its subject cannot be read: it stays open for the next apply', async () => {
    const plan = await harness.useApprovedPlan();
    await harness.apply();
    const [intent] = (await readFile(ledgerFile(data()), 'utf8')).split('\n');
    await writeFile(ledgerFile(data()), `${intent}\n`);
    const id = String(plan.actions[0]?.params.id);
    harness.reset((agents) => agents.filter((agent) => agent.id !== id));
    harness.faultHook = ({ path }) => (path.endsWith(id) ? { status: 401, body: '{"errors": []}' } : undefined);
    expect(harness.statuses(await harness.apply([], 1))[0]?.[0]).toBe('unconfirmed');
    harness.faultHook = undefined;
    expect(harness.statuses(await harness.apply())[0]?.[0]).toBe('applied');
    expect(harness.writes()).toHaveLength(2);
  });
});

describe('an action that may not be repeated', () => {
  test.each([
    ['rotate-old-keys', []],
    ['snapshot-unprotected-volumes', ['external_volumes']],
  ])(
    '%s: killed after the intent, it is applied if readings show it, unconfirmed if not, and never repeated',
    async (playbook, sources) => {
      const place = await playbookHarness({ playbook, sources, updatesTable: false });
      const initial = copyState(place);
      const plan = await place.plan(['--max-percent', '100']);
      await place.approve();
      await place.apply();
      const file = ledgerFile(`${place.folder}/data`);
      const lines = (await readFile(file, 'utf8')).split('\n');
      const settled = (last: string, exit: number) =>
        replaceLedger(place, [lines[0], ...lines.slice(2)].join('\n')).then(async () => {
          place.sandbox.log.length = 0;
          const { rows } = (await place.apply([], exit)).json<{ rows: { status: string; reason: string }[] }>();
          expect(rows[0]).toMatchObject({ status: last });
          expect(rows.slice(1).map(({ status }) => status)).toEqual(plan.actions.slice(1).map(() => 'applied'));
          expect(listWrites(place.sandbox.log)).toEqual([]);
          return rows[0]!.reason;
        });
      expect(await settled('applied', 0)).toMatch(/^confirmed late: interrupted; readings show that it was applied/u);
      restoreState(place, initial);
      expect(await settled('unconfirmed', 1)).toContain('readings do not show it, but it may still be in progress');
      await place.apply([], 1);
      expect(listWrites(place.sandbox.log)).toEqual([]);
    },
  );

  test('a view to create: applied if it exists, unconfirmed if not', async () => {
    const place = await playbookHarness({ playbook: 'pin-drift-view', sources: ['saved_views'], updatesTable: false });
    await place.plan();
    await place.approve();
    await place.apply();
    const file = ledgerFile(`${place.folder}/data`);
    const [intent] = (await readFile(file, 'utf8')).split('\n');
    const { views } = place.sandbox.services.platform.state;
    for (const [there, status, exit] of [
      [true, 'applied', 0],
      [false, 'unconfirmed', 1],
    ] as const) {
      await writeFile(file, `${intent}\n`);
      if (!there) views.pop();
      const { rows } = (await place.apply([], exit)).json<{ rows: { status: string }[] }>();
      expect(rows.map((row) => row.status)).toEqual([status]);
    }
    expect(views.filter(({ name }) => name.includes('Tidemark'))).toEqual([]);
  });
});
