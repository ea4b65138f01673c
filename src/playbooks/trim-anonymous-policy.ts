import { z } from 'zod';
import { scheduler } from '../services/scheduler.ts';
import { at, bodyOf, textAt } from './answers.ts';
import { playbook, skip } from './playbook.ts';
import { readOnlyRules } from './read-only-rules.ts';
import { type Json, step } from './step.ts';
import { changed, done, due } from './verdict.ts';

const facts = z.object({
  policy_name: z.string(),
  /** As read when the plan was made; a write replaces all of it. */
  description: z.string(),
  job_acl: z.json(),
  rules: z.string(),
  wanted_rules: z.string(),
});

const sight = (policy: unknown) => ({
  description: textAt(policy, 'Description') ?? '',
  job_acl: (at(policy, 'JobACL') ?? null) as Json,
  rules: textAt(policy, 'Rules'),
});

/** Line ends and indents may come back otherwise than they were sent. */
const isSame = (rules: string | null, wanted: string): boolean =>
  rules !== null && rules.replaceAll(/\s+/gu, ' ').trim() === wanted.replaceAll(/\s+/gu, ' ').trim();

const trim = step(facts, {
  operation: 'scheduler.policies.write',
  params: { policy_name: 'policy_name' },
  body: ({ policy_name, description, job_acl, wanted_rules }) => ({
    Name: policy_name,
    Description: description,
    Rules: wanted_rules,
    ...(job_acl !== null && { JobACL: job_acl }),
  }),
  reads: { policy: { operation: 'scheduler.policies.read', params: { policy_name: 'policy_name' } } },
  see: ({ policy }) => (policy.found ? sight(bodyOf(policy)) : null),
  judge: (seen, { description, job_acl, rules, wanted_rules }) => {
    if (seen === null) return done('the policy is gone');
    if (isSame(seen.rules, wanted_rules)) return done('its rules grant no more than reading');
    const same =
      seen.rules === rules &&
      seen.description === description &&
      JSON.stringify(seen.job_acl) === JSON.stringify(job_acl);
    return same ? due : changed('somebody changed the policy');
  },
});

export const trimAnonymousPolicy = playbook({
  name: 'trim-anonymous-policy',
  rule: 'anonymous-write',
  about: 'leave the ACL policy `anonymous` nothing but reading',
  table: 'acl_policies',
  steps: [trim],
  detail: z.object({ policy_name: z.string(), grants: z.array(z.string()) }),
  plan: async ({ detail: { policy_name, grants } }, desk) => {
    const answer = await desk.ask(scheduler.policies.read, { policy_name });
    if (!answer.found) return skip('the policy is gone');
    const { rules, ...rest } = sight(answer.value);
    const wanted = rules === null ? undefined : readOnlyRules(rules);
    if (wanted === undefined)
      return skip('its rules hold something that cannot be reduced with certainty: edit them by hand');
    if (wanted === '') return skip('nothing of its rules is reading: delete the policy by hand if that is meant');
    if (wanted === rules) return skip('its rules grant no more than reading');
    const summary = `leave ACL policy ${policy_name} nothing but reading; it loses ${grants.join(', ')}`;
    return [{ step: trim, facts: { policy_name, ...rest, rules, wanted_rules: wanted }, summary }];
  },
});
