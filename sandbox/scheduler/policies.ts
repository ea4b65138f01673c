import { createHash } from 'node:crypto';
import { HttpError } from '../responses.ts';
import type { Request, Response, RouteTable } from '../types.ts';
import { seesPolicy } from './access.ts';
import { parseRules, rulesJson } from './acl.ts';
import { type Body, checkBlockingQuery, parseBody, type SchedulerContext, stringField } from './context.ts';
import type { JobAcl, Policy } from './records.ts';

/** Nomad's limits. */
const NAME = /^[a-zA-Z0-9-]{1,128}$/;
const MAX_DESCRIPTION = 256;
/** Clients of Nomad send back what they read. */
const FIELDS = ['Name', 'Description', 'Rules', 'JobACL', 'CreateIndex', 'ModifyIndex', 'Hash', 'RulesJSON'];
const JOB_ACL_FIELDS = ['Namespace', 'JobID', 'Group', 'Task'] as const;

/** docs/services/scheduler.md#acl-policies. */
export const policyRoutes: RouteTable<SchedulerContext> = {
  'GET /acl/policies': { right: 'any', handle: listPolicies },
  'GET /acl/policy/:policy_name': { right: 'any', handle: readPolicy },
  'POST /acl/policy/:policy_name': writePolicy,
  'DELETE /acl/policy/:policy_name': deletePolicy,
};
export const livePolicyRoutes: RouteTable<SchedulerContext> = { 'PUT /acl/policy/:policy_name': writePolicy };

function listPolicies(request: Request, context: SchedulerContext): Response {
  checkBlockingQuery(request);
  const prefix = request.query.get('prefix') ?? '';
  const found = [...context.policies.values()].filter(
    ({ name }) => name.startsWith(prefix) && seesPolicy(context, request, name),
  );
  const sorted = found.sort((a, b) => (a.name < b.name ? -1 : 1));
  const headers = context.tableHeaders(context.policies.values(), context.deletedAt.policies);
  return context.json(
    sorted.map((policy) => policyObject(context, policy, false)),
    headers,
  );
}

function readPolicy(request: Request, context: SchedulerContext): Response {
  checkBlockingQuery(request);
  const name = request.params.policy_name!;
  if (!seesPolicy(context, request, name)) throw new HttpError(403, 'Permission denied');
  const policy = context.policies.get(name);
  if (!policy) throw new HttpError(404, 'ACL policy not found');
  return context.json(policyObject(context, policy, true), context.tableHeaders([policy], 1));
}

function writePolicy(request: Request, context: SchedulerContext): Response {
  const body = parseBody(request);
  const unknown = Object.keys(body).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) throw new HttpError(400, `unknown field ${unknown}`);
  const name = request.params.policy_name!;
  if (stringField(body, 'Name') !== name) throw new HttpError(400, 'ACL policy name does not match request path');
  const description = stringField(body, 'Description');
  const rules = stringField(body, 'Rules');
  const jobAcl = parseJobAcl(body);
  const fault = findFault({ name, description, rules, jobAcl });
  if (fault !== undefined) {
    const isHashicorp = context.flavor === 'hashicorp';
    const reason = isHashicorp ? `1 error occurred:\n\t* ${fault}\n\n` : fault;
    throw new HttpError(400, `policy 0 invalid: ${reason}`);
  }
  const modifyIndex = context.nextIndex();
  const createIndex = context.policies.get(name)?.createIndex ?? modifyIndex;
  context.policies.set(name, { name, description, rules, jobAcl, createIndex, modifyIndex });
  return context.empty();
}

/** Deleting a policy that does not exist succeeds. */
function deletePolicy({ params }: Request, context: SchedulerContext): Response {
  if (context.policies.delete(params.policy_name!)) context.deletedAt.policies = context.nextIndex();
  return context.empty();
}

function policyObject(context: SchedulerContext, policy: Policy, isFull: boolean) {
  const isHashicorp = context.flavor === 'hashicorp';
  const hash = createHash('sha256').update(policy.rules).digest('base64');
  return {
    Name: policy.name,
    Description: policy.description,
    ...(isFull ? { Rules: policy.rules } : {}),
    ...(policy.jobAcl && (isFull || isHashicorp) ? { JobACL: policy.jobAcl } : {}),
    ...(isHashicorp && !policy.jobAcl ? { JobACL: null } : {}),
    ...(isHashicorp ? { Hash: hash, ...(isFull ? { RulesJSON: tryRulesJson(policy.rules) } : {}) } : {}),
    CreateIndex: policy.createIndex,
    ModifyIndex: policy.modifyIndex,
  };
}

function parseJobAcl(body: Body): JobAcl | null {
  const value = body.JobACL;
  if (typeof value !== 'object' || value === null) return null;
  const fields = JOB_ACL_FIELDS.map((field) => [field, stringField(value as Body, field)] as const);
  return Object.fromEntries(fields.filter(([, text]) => text !== ''));
}

type Definition = Pick<Policy, 'name' | 'description' | 'rules' | 'jobAcl'>;

/** The first error of a policy, in Nomad's order. */
function findFault({ name, description, rules, jobAcl }: Definition): string | undefined {
  if (!NAME.test(name)) return `invalid name '${name}'`;
  if (description.length > MAX_DESCRIPTION) return `description longer than ${MAX_DESCRIPTION}`;
  return findRulesFault(rules) ?? findJobAclFault(jobAcl);
}

function findJobAclFault(acl: JobAcl | null): string | undefined {
  if (acl === null) return undefined;
  if (acl.JobID !== undefined && acl.Namespace === undefined) return 'namespace must be set to set job ID';
  if (acl.Group !== undefined && acl.JobID === undefined) return 'job ID must be set to set group';
  if (acl.Task !== undefined && acl.Group === undefined) return 'group must be set to set task';
  return acl.JobID === undefined ? 'job ID must be set to use job ACL' : undefined;
}

function findRulesFault(rules: string): string | undefined {
  if (rules.trim() === '') return 'rules must not be empty';
  try {
    parseRules(rules);
    return undefined;
  } catch (error) {
    return `failed to parse rules: ${formatParseError(rules, error)}`;
  }
}

function formatParseError(rules: string, error: unknown): string {
  if (error instanceof SyntaxError) return rules.trimStart().startsWith('{') ? 'invalid JSON' : 'invalid string';
  return error instanceof Error ? error.message : String(error);
}

/** Rules that a test set and that do not parse have no JSON form. */
export function tryRulesJson(rules: string) {
  try {
    return rulesJson(parseRules(rules));
  } catch {
    return null;
  }
}
