import { expect, test } from 'vitest';
import type { Action, Plan } from '../../src/act/plan-file.ts';
import { builtInPlaybooks } from '../../src/act/playbooks/index.ts';
import { formatActions, formatApplyResult, formatPlan } from '../../src/cli/playbook-output.ts';
import { createTargets } from '../../src/config/config.ts';
import { createColors } from '../../src/core/color.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { buildTestPlan } from '../remediation/test-plans.ts';

const targets = createTargets([
  { name: 'vault', kind: 'secrets', url: 'https://vault.example', token: 'a-read-token-of-vault' },
  { name: 'acme', kind: 'platform', url: 'https://tfe.example', organization: 'acme', token: 'a-read-token-of-acme' },
]);

function show(change: (action: Action, plan: Plan) => void, hasColor = false): string {
  const plan = buildTestPlan((made) => {
    made.actions.splice(1);
    change(made.actions[0] as Action, made);
  });
  const context = { colors: createColors(hasColor), redactor: new Redactor() };
  return formatActions(plan, builtInPlaybooks, { targets } as never, context);
}

test('secrets of a body are masked, also where a difference or a path repeats them', () => {
  const text = show((action) => {
    action.operation = 'secrets.kms.write';
    action.target = 'vault';
    action.params = { name: 'provider-with-S3cretValue!' };
    action.body = { provider: 'aws', credentials: { access_key: 'S3cretValue!', region: 'eu-west-1' } };
  });
  expect(text).toContain('POST https://vault.example/v1/keymgmt/kms/');
  expect(text).toContain('"credentials": "***"');
  expect(text).not.toContain('S3cretValue');
});

test('a plan file cannot control the terminal either: who approved it, and which playbook made it', () => {
  const plan = buildTestPlan((made) => {
    made.playbook = 'a\u001b[2J\nplan p-1 of rotate-old-keys';
    made.approvals = [
      { by: 'al\u001b]0;x\u0007ice\u202e\nnot approved', at: made.created_at, irreversible: true, digest: '' },
    ];
  });
  const text = formatPlan(plan, { colors: createColors(false), screen: undefined });
  expect(text).not.toMatch(/\p{Cc}(?<!\n)|\p{Cf}/u);
  expect(text).not.toMatch(/^(?:not approved|plan p-1 )/mu);
});

test('why an apply stopped cannot control the terminal', () => {
  const stopped = { reason: 'vault: \u001b[2J500 no\nall applied', exit: 1 } as const;
  const style = { colors: createColors(false), screen: undefined };
  const text = formatApplyResult({ plan_id: 'p-1', rows: [], left_unconfirmed: 0, stopped }, buildTestPlan(), style);
  expect(text).not.toMatch(/\p{Cc}(?<!\n)/u);
  expect(text).not.toMatch(/^all applied/mu);
});

test('names cannot control the terminal or forge a line', () => {
  const text = show((action) => {
    action.operation = 'platform.agents.delete';
    action.summary = 'delete agent \u001b[31mx\n+ forged: true';
    action.guard.inputs = { name: 'a\u001b]0;title\u0007\n+ forged', other: '\u202ex' };
  });
  expect(text).not.toMatch(/\p{Cc}(?<!\n)|\p{Cf}/u);
  expect(text).not.toMatch(/^ *\+ forged/mu);
});

test('a plan of a playbook that is not installed shows its calls; a target that is not configured is named', () => {
  const unknown = (action: Action, plan: Plan) => {
    plan.playbook = 'of-a-plugin';
    action.operation = 'scheduler.volumes.register';
    action.target = 'nomad';
  };
  expect(show(unknown)).toBe(
    'a1: delete an agent\n  scheduler.volumes.register of target nomad, which is not configured\n  what changes: see the body; the playbook does not declare it\n',
  );
});

test('colours additions, removals and changes as terraform does', () => {
  const text = show((action, plan) => {
    plan.playbook = 'rotate-old-keys';
    action.operation = 'secrets.keys.rotate';
    action.target = 'vault';
    action.params = { name: 'signing' };
    delete action.body;
    action.guard = {
      reads: { key: { operation: 'secrets.keys.read', params: { name: 'signing' } } },
      inputs: { key_name: 'signing', latest_version: 3, rotated_at: '2026-01-01T00:00:00Z' },
    };
  }, true);
  expect(text).toContain('https://vault.example/v1/keymgmt/key/signing/rotate\n');
  expect(text).toContain('\u001b[33m~ latest_version: 3 -> 4\u001b[39m');
});
