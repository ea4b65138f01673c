import { beforeAll, expect, test } from 'vitest';
import { type Playbook, skip } from '../../src/act/define.ts';
import { type PlanDeps, planActions } from '../../src/act/plan.ts';
import { findingIds, type Plan } from '../../src/act/plan-file.ts';
import { builtInPlaybooks } from '../../src/act/playbooks/index.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { type PlaybookHarness, playbookHarness } from '../helpers/playbook-harness.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

/** A first act on one object, before the act on all of them. */

const cleanup = cleanAtEnd();
let place: PlaybookHarness;
beforeAll(async () => {
  place = await playbookHarness({ playbook: 'drop-dead-views', updatesTable: false, cleanup });
});

const ids = ({ actions }: Plan) => [...new Set(actions.flatMap(findingIds))];

const names = builtInPlaybooks.map(({ name }) => name);

test.each(names)('%s plans for one of its findings', async (name) => {
  const playbook = place.switchTo(name);
  const all = await playbook.plan(['--max-percent', '100', '--max-actions', '1000']);
  const total = ids(all).length;
  expect([total > 0, all.selection]).toEqual([true, null]);
  const one = await playbook.plan(['--limit', '1', '--max-percent', '100']);
  expect(ids(one)).toEqual([ids(all)[0]]);
  expect(one.selection!.remaining).toBeGreaterThanOrEqual(total - 1);
});

/** Of one action for all findings, of several actions for a finding, and of one for each. */
test.each(['pin-drift-view', 'remove-retired-keys', 'drop-dead-views'])(
  '%s plans for a finding by its ID and its subject',
  async (name) => {
    const playbook = place.switchTo(name);
    const rows = await place.rows('select finding_id, subject_id, subject_name from findings where rule = $rule', {
      rule: builtInPlaybooks.find((one) => one.name === name)!.rule,
    });
    const [id] = ids(await playbook.plan(['--limit', '1', '--max-percent', '100']));
    const named = await playbook.plan(['--finding', id!, '--max-percent', '100']);
    expect(ids(named)).toEqual([id]);
    expect(named.selection).toEqual({ findings: [id], subjects: [], limit: null, remaining: expect.any(Number) });
    const subject = rows.find(({ finding_id }) => finding_id === id);
    for (const text of [subject!.subject_id, subject!.subject_name ?? subject!.subject_id]) {
      expect(ids(await playbook.plan(['--subject', String(text), '--max-percent', '100']))).toContain(id);
    }
  },
);

test('the most severe finding comes first, then the one with the greatest weight, then by name', async () => {
  const { actions } = await place.switchTo('retire-old-key-versions').plan(['--max-percent', '100']);
  const rows = await place.rows(
    "select finding_id from findings where rule = 'old-key-version-enabled' order by weight desc, subject_name",
  );
  expect(actions.map(({ finding_id }) => finding_id)).toEqual(rows.map(({ finding_id }) => finding_id));
});

test('--max-actions and --max-percent count what was selected, and stderr says what was not', async () => {
  const plan = ['playbook', 'plan', 'reap-dead-agents'];
  const refused = await place.tidemark([...plan, '--max-actions', '2']);
  expect([refused.exit, refused.stderr]).toEqual([6, expect.stringContaining('--limit')]);
  const made = await place.tidemark([...plan, '--max-actions', '2', '--limit', '2']);
  expect([made.exit, made.stderr]).toEqual([
    0,
    expect.stringContaining('1 finding of reap-dead-agents remain, which were not selected'),
  ]);
  expect(made.stdout).toContain('selected: at most 2 findings; 1 finding not selected');
});

test.each([
  ['--finding', 'f-none'],
  ['--subject', 'nobody'],
])('%s %s is a usage error: it is no finding of the playbook', async (option, value) => {
  const { exit, stderr } = await place.tidemark(['playbook', 'plan', 'reap-dead-agents', option, value]);
  expect([exit, stderr]).toEqual([
    2,
    expect.stringContaining(`${option} ${value}: no open finding of rule dead-agent`),
  ]);
});

test('more findings may be skipped together than a call may have arguments', async () => {
  const finding = {
    finding_id: 'f',
    target: 't',
    subject_id: 's',
    subject_name: null,
    title: '',
    since: '',
    detail: {},
    reason: null,
  };
  const playbook: Playbook = {
    ...{ name: 'none', rule: 'none', description: '', table: 'workspaces', actions: [], perTarget: true },
    plan: async () => skip('nothing to do'),
  };
  const candidates = Array.from({ length: 130_000 }, () => finding);
  const deps = {
    config: { targets: [{ name: 't' }] },
    warehouse: {},
    context: { redactor: new Redactor() },
    limit: null,
  } as unknown as PlanDeps;
  expect((await planActions(playbook, candidates, deps)).refused).toHaveLength(130_000);
});

test('a limit that is no whole number is a usage error', async () => {
  for (const limit of ['0', '-1', '1.5', 'all']) {
    expect((await place.tidemark(['playbook', 'plan', 'reap-dead-agents', `--limit=${limit}`])).exit).toBe(2);
  }
});
