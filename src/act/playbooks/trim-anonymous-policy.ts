import { z } from 'zod';
import { scheduler } from '../../services/scheduler/operations.ts';
import {
  defineAction,
  definePlaybook,
  drifted,
  type JsonValue,
  type ReadResults,
  ready,
  satisfied,
  skip,
} from '../define.ts';
import { responseBody, textAt, valueAt } from './lib/json-path.ts';
import { readOnlyRules } from './lib/read-only-rules.ts';
import { readPolicy } from './lib/reads.ts';
import { restoreFields } from './lib/undo.ts';

const inputs = z.object({
  policy_name: z.string(),
  /** As read when the plan was made, like the next two: a write replaces the whole policy. */
  description: z.string(),
  job_acl: z.json(),
  rules: z.string(),
  wanted_rules: z.string(),
});

const parsePolicy = (policy: unknown) => ({
  description: textAt(policy, 'Description') ?? '',
  job_acl: (valueAt(policy, 'JobACL') ?? null) as JsonValue,
  rules: textAt(policy, 'Rules'),
});

function buildPolicyBody(name: string, { description, job_acl, rules }: z.infer<typeof policyState>) {
  return { Name: name, Description: description, Rules: rules ?? '', ...(job_acl !== null && { JobACL: job_acl }) };
}

/** The service may return other line ends and indents than were sent. */
const hasSameRules = (rules: string | null, wanted: string): boolean =>
  rules !== null && rules.replaceAll(/\s+/gu, ' ').trim() === wanted.replaceAll(/\s+/gu, ' ').trim();

const policyState = z.object({ description: z.string(), job_acl: z.json(), rules: z.string().nullable() });

const write = {
  operation: 'scheduler.policies.write',
  params: { policy_name: 'policy_name' },
  reads: { policy: readPolicy },
  observe: ({ policy }: ReadResults<'policy'>) => (policy.found ? parsePolicy(responseBody(policy)) : null),
};

const trim = defineAction(inputs, {
  ...write,
  body: ({ policy_name, description, job_acl, wanted_rules }) =>
    buildPolicyBody(policy_name, { description, job_acl, rules: wanted_rules }),
  change: ({ rules, wanted_rules }) => ({ before: { rules }, after: { rules: wanted_rules } }),
  evaluate: (observed, { description, job_acl, rules, wanted_rules }) => {
    if (observed === null) return satisfied('the policy is gone');
    if (hasSameRules(observed.rules, wanted_rules)) return satisfied('its rules grant only read access');
    const isAsPlanned =
      observed.rules === rules &&
      observed.description === description &&
      JSON.stringify(observed.job_acl) === JSON.stringify(job_acl);
    return isAsPlanned ? ready : drifted('the policy was changed');
  },
  undo: restoreFields(write, {
    input: 'policy_name',
    subject: 'the policy',
    fields: policyState,
    body: (before, name) => buildPolicyBody(name, before),
    summary: ({ inputs: { policy_name } }) => `restore the rules of ACL policy ${policy_name}`,
  }),
});

export const trimAnonymousPolicy = definePlaybook({
  name: 'trim-anonymous-policy',
  rule: 'anonymous-write',
  description: 'reduce the ACL policy `anonymous` to read access',
  table: 'acl_policies',
  actions: [trim],
  detail: z.object({ policy_name: z.string(), grants: z.array(z.string()) }),
  plan: async ({ detail: { policy_name, grants } }, ctx) => {
    const result = await ctx.read(scheduler.policies.read, { policy_name });
    if (!result.found) return skip('the policy is gone');
    const { rules, ...rest } = parsePolicy(result.value);
    const wanted = rules === null ? undefined : readOnlyRules(rules);
    if (wanted === undefined) return skip('its rules cannot be reduced with certainty: edit them by hand');
    if (wanted === '') return skip('none of its rules grants read access: delete the policy by hand if you want that');
    if (wanted === rules) return skip('its rules grant only read access');
    const summary = `reduce ACL policy ${policy_name} to read access; it loses ${grants.join(', ')}`;
    return [{ action: trim, inputs: { policy_name, ...rest, rules, wanted_rules: wanted }, summary }];
  },
});
