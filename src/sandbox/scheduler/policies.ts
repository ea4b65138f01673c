import { createHash } from 'node:crypto';
import type { Ask, Reply, Route } from '../types.ts';
import { type Body, empty, json, queryRefusal, text, textIn, withBody } from './reply.ts';
import { type JobAcl, nextIndex, type Policy, type SchedulerWorld } from './state.ts';

/** structs/acl.go (live-services.md C2). */
const NAME = /^[a-zA-Z0-9-]{1,128}$/;
const MAX_DESCRIPTION = 256;
const JOB_ACL_FIELDS = ['Namespace', 'JobID', 'Group', 'Task'] as const;

function policyJson({ flavor }: SchedulerWorld, policy: Policy, full: boolean) {
  const hash = createHash('sha256').update(policy.rules).digest('base64');
  return {
    Name: policy.name,
    Description: policy.description,
    ...(full ? { Rules: policy.rules } : {}),
    ...(policy.jobAcl && (full || flavor === 'hashicorp') ? { JobACL: policy.jobAcl } : {}),
    ...(flavor === 'hashicorp' && !policy.jobAcl ? { JobACL: null } : {}),
    ...(flavor === 'hashicorp' ? { Hash: hash, ...(full ? { RulesJSON: {} } : {}) } : {}),
    CreateIndex: policy.createIndex,
    ModifyIndex: policy.modifyIndex,
  };
}

function jobAclIn(body: Body): JobAcl | null {
  const value = body.JobACL;
  if (typeof value !== 'object' || value === null) return null;
  const fields = JOB_ACL_FIELDS.map((field) => [field, textIn(value as Body, field)] as const);
  return Object.fromEntries(fields.filter(([, text]) => text !== ''));
}

/** Rule 2 of the document, in Nomad's order. */
function jobAclFault(acl: JobAcl | null): string | undefined {
  if (acl === null) return undefined;
  if (acl.JobID !== undefined && acl.Namespace === undefined) return 'namespace must be set to set job ID';
  if (acl.Group !== undefined && acl.JobID === undefined) return 'job ID must be set to set group';
  if (acl.Task !== undefined && acl.Group === undefined) return 'group must be set to set task';
  return acl.JobID === undefined ? 'job ID must be set to use job ACL' : undefined;
}

/** A stand-in for the HCL parser: JSON must parse, HCL must have its braces in pairs and no unknown block. */
function rulesFault(rules: string): string | undefined {
  if (rules.trim() === '') return 'rules must not be empty';
  if (rules.trimStart().startsWith('{')) {
    try {
      JSON.parse(rules);
      return undefined;
    } catch {
      return 'failed to parse rules: invalid JSON';
    }
  }
  const [open, close] = [rules.split('{').length, rules.split('}').length];
  return open === close && open > 1 ? undefined : 'failed to parse rules: unbalanced block';
}

function writePolicy({ state, ...rest }: SchedulerWorld, body: Body, ask: Ask): Reply {
  const name = ask.params.policy_name!;
  if (textIn(body, 'Name') !== name) return text(400, 'ACL policy name does not match request path');
  const [description, rules, jobAcl] = [textIn(body, 'Description'), textIn(body, 'Rules'), jobAclIn(body)];
  const tooLong = description.length > MAX_DESCRIPTION ? `description longer than ${MAX_DESCRIPTION}` : undefined;
  const badName = NAME.test(name) ? undefined : `invalid name '${name}'`;
  const fault = badName ?? tooLong ?? rulesFault(rules) ?? jobAclFault(jobAcl);
  if (fault !== undefined) return text(400, `policy 0 invalid: ${fault}`);
  const modifyIndex = nextIndex(state);
  const createIndex = state.policies.get(name)?.createIndex ?? modifyIndex;
  state.policies.set(name, { name, description, rules, jobAcl, createIndex, modifyIndex });
  return empty({ state, ...rest });
}

export function policyRoutes(world: SchedulerWorld): Route[] {
  const { state } = world;
  const path = '/acl/policy/:policy_name';
  const write = withBody((body, ask) => writePolicy(world, body, ask));
  return [
    {
      method: 'GET',
      path: '/acl/policies',
      answer: (ask) => {
        const prefix = ask.query.get('prefix') ?? '';
        const found = [...state.policies.values()].filter(({ name }) => name.startsWith(prefix));
        const sorted = found.sort((a, b) => (a.name < b.name ? -1 : 1));
        return (
          queryRefusal(ask) ??
          json(
            world,
            sorted.map((policy) => policyJson(world, policy, false)),
          )
        );
      },
    },
    {
      method: 'GET',
      path,
      answer: (ask) => {
        const policy = state.policies.get(ask.params.policy_name!);
        return (
          queryRefusal(ask) ??
          (policy ? json(world, policyJson(world, policy, true)) : text(404, 'ACL policy not found'))
        );
      },
    },
    { method: 'POST', path, writes: true, answer: write },
    ...(world.flavor === 'hashicorp' ? [{ method: 'PUT', path, writes: true, answer: write }] : []),
    {
      method: 'DELETE',
      path,
      writes: true,
      // Deleting what is not there succeeds (live-services.md C2).
      answer: ({ params }) => {
        if (state.policies.delete(params.policy_name!)) nextIndex(state);
        return empty(world);
      },
    },
  ];
}
