import { approvalDigest, type Plan, planDigest } from '../../src/act/plan-file.ts';

/** A plan of two actions as the engine writes one; `change` is made before it is digested. */
export function buildTestPlan(change: (plan: Plan) => void = () => {}): Plan {
  const plan: Plan = {
    plan_id: 'p-20261001T021500Z-00000000',
    playbook: 'reap-dead-agents',
    planned_by: { who: 'alice@build-1', how: 'tidemark playbook plan' },
    created_at: '2026-10-01T02:15:00.000Z',
    expires_at: '2026-10-02T02:15:00.000Z',
    run_id: '20261001T021500Z',
    warehouse_id: 'here',
    digest: '',
    selection: { findings: ['f-a1'], subjects: ['a name'], limit: 2, remaining: 3 },
    targets: [
      {
        name: 'acme',
        kind: 'platform',
        url: 'https://app.acme.example/api/v2',
        organization: 'acme',
        namespace: null,
        mounts: { keymgmt: 'keymgmt', mesh: 'mesh' },
        identity: { organization_id: 'org-1' },
      },
    ],
    actions: ['a1', 'a2'].map((action_id) => ({
      action_id,
      operation: 'platform.agents.delete',
      target: 'acme',
      params: { id: `agent-${action_id}` },
      body: { nested: [{ of: 1 }, null, true] },
      finding_id: `f-${action_id}`,
      finding_ids: [`f-${action_id}`, 'f-other'],
      subject_name: 'a name',
      summary: 'delete an agent',
      why: 'it is dead',
      since: '2026-09-30T02:15:00.000Z',
      guard: {
        reads: {
          agent: { operation: 'platform.agents.show', params: { id: 'x' }, allPages: true, allowFailure: true },
        },
        inputs: { status: 'errored', last_ping_at: null },
      },
      irreversible: true,
    })),
    skipped: [{ finding_id: 'f-3', reason: 'stale' }],
    approvals: [],
  };
  change(plan);
  plan.digest = planDigest(plan);
  return plan;
}

export function withTestApproval(plan: Plan, by: string): Plan {
  const approval = { by, at: '2026-10-01T03:00:00.000Z', irreversible: true };
  return { ...plan, approvals: [...plan.approvals, { ...approval, digest: approvalDigest(plan, approval) }] };
}

/** The file of a plan as version 0.1 wrote it, with its only approval. */
export function toLegacyText(plan: Plan): string {
  const { planned_by: _planner, targets: _targets, selection: _selection, approvals, digest: _digest, ...rest } = plan;
  const digest = planDigest(rest);
  const approval = approvals.map(({ digest: _, ...given }) => ({
    ...given,
    digest: approvalDigest({ digest }, given),
  }))[0];
  return JSON.stringify({ ...rest, digest, approval: approval ?? null });
}
