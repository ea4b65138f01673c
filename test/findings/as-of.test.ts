import { expect, onTestFinished, test } from 'vitest';
import { cli } from '../helpers/cli.ts';
import { emptyProject, publishWarehouse } from '../helpers/findings-command.ts';
import type { Rows } from '../helpers/findings-warehouse.ts';

const COLUMNS =
  'subject_id, severity, state, first_seen, opened_at, state_since, resolved_at, times_reopened, accepted_reason';
const PAST = `select ${COLUMNS} from findings where rule = 'drifted-workspace' order by all`;

/** What drifts in each night. */
const NIGHTS: readonly (readonly string[])[] = [['a', 'b'], ['b', 'c'], ['a', 'c'], ['a', 'b', 'c'], []];
const timeOf = (night: number) => `2026-11-${11 + night}T02:15:00Z`;

test('the findings as of a night are those that it had, whatever has become of them since', async () => {
  const folder = await emptyProject(onTestFinished);
  const held: unknown[] = [];
  await publishWarehouse(folder, onTestFinished, async ({ database, pull, evaluate }) => {
    for (const [night, drifting] of NIGHTS.entries()) {
      const rows: Rows = ['a', 'b', 'c'].map((id) => ({
        external_id: id,
        workspace_name: id,
        drifted: drifting.includes(id),
      }));
      await pull(timeOf(night), 'acme', 'workspaces', { workspaces: rows });
      await evaluate(timeOf(night), { targets: ['acme'] });
      held.push(await database.rows(PAST));
    }
  });
  const withEvents = PAST.replace('where', 'semi join finding_events using (finding_id) where');
  for (const night of NIGHTS.keys()) {
    for (const query of [PAST, withEvents]) {
      const { stdout, stderr } = await cli(['sql', '--json', '--as-of', timeOf(night), query], { cwd: folder });
      expect(JSON.parse(stdout || '[]'), `night ${night} ${stderr}`).toEqual(held[night]);
    }
  }
});
