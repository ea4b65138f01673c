import { z } from 'zod';
import { canonicalJson } from '../../core/canonical-json.ts';
import { textAt, valueAt } from '../../core/json-path.ts';
import { listGrants } from '../../services/scheduler/acl-rules.ts';
import { scheduler } from '../../services/scheduler/operations.ts';
import type { JsonValue, ReadResult } from '../define.ts';
import { defineAction, definePlaybook, drifted, ready, satisfied, skip, unknown } from '../define.ts';
import { readOnlyRules } from './lib/read-only-rules.ts';
import { readSubject, responseBody } from './lib/reads.ts';
import { restoreFields } from './lib/undo.ts';

/** As read when the plan was made: a write replaces the whole policy. */
const policyState = z.object({ description: z.string(), job_acl: z.json(), rules: z.string().nullable() });
const inputs = policyState.extend({ policy_name: z.string(), rules: z.string(), wanted_rules: z.string() });

function parsePolicy(policy: ReadResult) {
  if (!policy.found) return null;
  const body = responseBody(policy);
  return {
    description: textAt(body, 'Description') ?? '',
    job_acl: (valueAt(body, 'JobACL') ?? null) as JsonValue,
    rules: textAt(body, 'Rules'),
  };
}

function buildPolicyBody(name: string, { description, job_acl, rules }: z.infer<typeof policyState>) {
  return { Name: name, Description: description, Rules: rules ?? '', ...(job_acl !== null && { JobACL: job_acl }) };
}

/** The service may return other line ends and indents than were sent. */
const normalize = (rules: string) => rules.replaceAll(/\s+/gu, ' ').trim();

const normalizePolicy = ({ description, job_acl, rules }: NonNullable<ReturnType<typeof parsePolicy>>) =>
  canonicalJson({ description, job_acl, rules: normalize(rules ?? '') });

const write = {
  operation: 'scheduler.policies.write',
  params: { policy_name: 'policy_name' },
  reads: {
    policy: readSubject('scheduler.policies.read', { policy_name: 'policy_name' }, 'acl_policies.name', { id: 'Name' }),
  },
  observe: ({ policy }: { readonly policy: ReadResult }) => parsePolicy(policy),
};

const trim = defineAction(inputs, {
  ...write,
  body: ({ policy_name, wanted_rules, ...policy }) => buildPolicyBody(policy_name, { ...policy, rules: wanted_rules }),
  change: ({ rules, wanted_rules }) => ({ before: { rules }, after: { rules: wanted_rules } }),
  evaluate: (observed, { description, job_acl, rules, wanted_rules }) => {
    if (observed === null) return satisfied('the policy is gone');
    if (observed.rules === null) return unknown('its rules are not reported');
    if (normalize(observed.rules) === normalize(wanted_rules)) return satisfied('its rules grant only read access');
    const isAsPlanned = canonicalJson(observed) === canonicalJson({ description, job_acl, rules });
    return isAsPlanned ? ready : drifted('the policy was changed');
  },
  undo: restoreFields(write, {
    names: z.object({ policy_name: z.string() }),
    subject: 'the policy',
    fields: policyState,
    isLeft: (after: ReturnType<typeof parsePolicy>, planned: z.infer<typeof inputs>) =>
      after !== null && normalizePolicy(after) === normalizePolicy({ ...planned, rules: planned.wanted_rules }),
    body: (before, { policy_name }) => buildPolicyBody(policy_name, before),
    summary: ({ policy_name }) => `restore the rules of ACL policy ${policy_name}`,
  }),
});

export const trimAnonymousPolicy = definePlaybook({
  name: 'trim-anonymous-policy',
  rule: 'anonymous-write',
  description: 'reduce the ACL policy `anonymous` to read access',
  table: 'acl_policies',
  actions: [trim],
  detail: z.object({ policy_name: z.string() }),
  plan: async ({ detail: { policy_name } }, ctx) => {
    const policy = parsePolicy(await ctx.read(scheduler.policies.read, { policy_name }));
    if (policy === null) return skip('the policy is gone');
    const wanted = policy.rules === null ? undefined : readOnlyRules(policy.rules);
    if (wanted === undefined) return skip('its rules cannot be reduced with certainty: edit them by hand');
    if (wanted === '') return skip('none of its rules grants read access: delete the policy by hand if you want that');
    // As read: the finding may be of other rules.
    const grants = listGrants(policy.rules ?? '') ?? [];
    if (grants.length === 0) return skip('its rules grant only read access');
    const summary = `reduce ACL policy ${policy_name} to read access; it loses ${grants.join(', ')}`;
    return [{ action: trim, inputs: { policy_name, ...policy, wanted_rules: wanted }, summary }];
  },
});
