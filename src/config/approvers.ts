import { z } from 'zod';
import { SEVERITIES } from '../core/choices.ts';
import { parseSshKey } from '../core/ssh-signature.ts';

/** The section `approvers:` of `tidemark.yaml`: who may approve plans with a signature (docs/approvals.md). */

const nonEmpty = z.string().min(1, 'must not be empty');
const count = z.int().positive();

/** A name as approvals have it. Systems write the same letters in two forms, and blanks at the ends are not seen. */
export function normalizeApprover(name: string): string {
  return name.trim().normalize();
}

const approver = z.strictObject({
  name: z
    .string()
    .overwrite(normalizeApprover)
    .regex(/^[^\p{C}\s,][^\p{C},]*$/u, 'must be one line without a comma'),
  key: z
    .string()
    .refine((line) => parseSshKey(line) !== undefined, 'must be the line of an Ed25519 key, such as ssh-ed25519 AAAA…'),
  groups: z.array(nonEmpty).default([]),
  accounts: z
    .array(nonEmpty)
    .optional()
    .describe('login names that the person plans with; the name of the approver unless set'),
});

const approvalRule = z.strictObject({
  playbook: nonEmpty.optional(),
  severity: z
    .enum(SEVERITIES, `must be one of ${SEVERITIES.join(', ')}`)
    .optional()
    .describe('that, or a more severe one, of the findings'),
  target: nonEmpty.optional(),
  group: nonEmpty,
  approvals: count.optional().describe('of the group; those of `approvers` unless set'),
});

export const approvers = z
  .strictObject({
    approvals: count.default(1).describe('approvers who must sign a plan'),
    people: z.array(approver, 'must be a list of approvers').min(1, 'must name at least one approver'),
    rules: z.array(approvalRule, 'must be a list of rules').default([]),
  })
  .superRefine(({ approvals, people, rules }, { addIssue }) => {
    const report = (path: (string | number)[], message: string) => addIssue({ code: 'custom', path, message });
    for (const [index, { name, key }] of people.entries()) {
      const earlier = people.slice(0, index);
      if (earlier.some((other) => other.name === name)) report(['people', index, 'name'], `${name} is there twice`);
      const same = earlier.find((other) => parseSshKey(other.key)?.equals(parseSshKey(key) ?? Buffer.of()));
      if (same) report(['people', index, 'key'], `is the key of ${same.name}: one key must not count as two people`);
    }
    if (people.length < approvals)
      report(['approvals'], `${approvals} must sign, and ${people.length} ${people.length === 1 ? 'is' : 'are'} named`);
    for (const [index, { playbook, severity, target, group, approvals: needed = approvals }] of rules.entries()) {
      const members = people.filter(({ groups }) => groups.includes(group)).length;
      if (members < needed) {
        report(['rules', index, 'group'], `${group} has ${members} of the ${needed} approvers that the rule asks for`);
      }
      if (playbook === undefined && severity === undefined && target === undefined) {
        report(['rules', index], 'needs a playbook, a severity or a target');
      }
    }
  });

export type Approvers = z.infer<typeof approvers>;
export type Approver = z.infer<typeof approver>;
