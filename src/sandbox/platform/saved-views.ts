import type { Random } from '../prng.ts';
import type { PlatformState, SavedQuery, SavedView } from './state.ts';

const DAY = 86_400_000;

type Draft = readonly [name: string, queryType: string, ageDays: number, query: SavedQuery];

const is = (field: string, value: string) => ({ field, operator: 'is', value: [value] });

/** One of these always answers nothing, and one asks for a field that the explorer has lost. */
const DRAFTS: readonly Draft[] = [
  ['Drifted workspaces', 'workspaces', 210, { filter: [is('drifted', 'true')], sort: ['-resources_drifted'] }],
  [
    'Failing checks, "prod" only',
    'workspaces',
    120,
    {
      filter: [
        { field: 'checks_failed', operator: 'gt', value: ['0'] },
        { field: 'workspace_name', operator: 'contains', value: ['prod'] },
      ],
      fields: ['workspace_name', 'project_name', 'checks_failed'],
      sort: ['workspace_name'],
    },
  ],
  ['Tool versions', 'tf_versions', 400, { filter: [], sort: ['version'] }],
  ['aws <script>alert(1)</script>', 'providers', 90, { filter: [is('name', 'aws')], sort: ['-workspace_count'] }],
  [
    "=cmd|' /C calc'!A0",
    'modules',
    75,
    { filter: [{ field: 'source', operator: 'contains', value: ['acme'] }], fields: ['name', 'version'] },
  ],
  ['未評価 🚧', 'workspaces', 44, { filter: [{ field: 'drifted', operator: 'is_empty', value: [''] }] }],
  ['Decommissioned', 'workspaces', 320, { filter: [is('workspace_name', 'decommissioned-in-2024')] }],
  ['By owner team (old)', 'workspaces', 500, { filter: [is('workspace_owner_team', 'sre')] }],
];

const newView = ([name, queryType, ageDays, query]: Draft, at: number, random: Random): SavedView => ({
  id: random.id('sq-', 16),
  name,
  createdAt: at - ageDays * DAY - random.int(0, DAY - 1),
  queryType,
  query,
});

export function createViews(random: Random, at: number): SavedView[] {
  return DRAFTS.map((draft) => newView(draft, at, random));
}

/** A view comes on night 3, asks for something else from night 6 on, and is gone on night 10. */
export function advanceViews({ views }: PlatformState, random: Random, night: number, now: number): void {
  const name = 'Errored runs this week';
  const index = views.findIndex((view) => view.name === name);
  const view = views[index];
  if (night === 3) {
    views.push(newView([name, 'workspaces', 0, { filter: [is('current_run_status', 'errored')] }], now, random));
  }
  if (night === 6 && view) view.query = { ...view.query, fields: ['workspace_name', 'current_run_status'] };
  if (night === 10 && view) views.splice(index, 1);
}
