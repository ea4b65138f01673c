import { createHash } from 'node:crypto';
import { globPattern, type HclItem, parseRuleItems, readCapabilities, readPolicyLevel } from '../hcl.ts';
import { words } from '../random.ts';
import { HttpError } from '../router.ts';
import type { Request, Response, RouteTable } from '../types.ts';
import {
  type Body,
  checkBlockingQuery,
  parseBody,
  refuseUnknownFields,
  type SchedulerContext,
  seesPolicy,
  stringField,
} from './context.ts';
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
  refuseUnknownFields(body, FIELDS);
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

/** The first error of a policy, in Nomad's order. */
function findFault({ name, description, rules, jobAcl }: Omit<Policy, 'createIndex' | 'modifyIndex'>) {
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
    const syntax = rules.trimStart().startsWith('{') ? 'invalid JSON' : 'invalid string';
    return `failed to parse rules: ${error instanceof SyntaxError ? syntax : (error as Error).message}`;
  }
}

/** Rules that a test set and that do not parse have no JSON form. */
export function tryRulesJson(rules: string) {
  try {
    return rulesJson(parseRules(rules));
  } catch {
    return null;
  }
}

/** What Nomad's short form `policy = "read"` of a namespace stands for. */
const READ = words(`
  list-jobs parse-job read-job csi-list-volume csi-read-volume read-job-scaling list-scaling-policies
  read-scaling-policy host-volume-read
`);
const SCALE = ['list-scaling-policies', 'read-scaling-policy', 'read-job-scaling', 'scale-job'];
const WRITE = [
  ...READ,
  ...words(`
  scale-job submit-job dispatch-job read-logs read-fs alloc-exec alloc-lifecycle csi-mount-volume
  csi-write-volume submit-recommendation host-volume-create host-volume-register host-volume-delete
  host-volume-write
`),
];
const EXPANDED: Readonly<Record<string, readonly string[]>> = {
  deny: ['deny'],
  list: ['list-jobs', 'csi-list-volume'],
  read: READ,
  write: WRITE,
  scale: SCALE,
};
const NAMESPACE_POLICIES = ['deny', 'read', 'write', 'scale'];

type NamespaceRule = ReturnType<typeof parseNamespace>;

/** The rules of one policy, as Nomad parses them. */
type ParsedRules = ReturnType<typeof parseRules>;

const BLOCKS = ['agent', 'node', 'operator', 'quota', 'plugin'] as const;

/** @throws Error as Nomad words it: an unknown value is refused, an unknown key is not */
export function parseRules(raw: string) {
  const items = parseRuleItems(raw);
  if (items.length === 0) throw new Error('Invalid policy: no rules');
  const namespaces = items.filter(({ name }) => name === 'namespace').map(parseNamespace);
  /** The policy of the block `plugin`, `node`, `agent` …; undefined without the block. */
  const blocks: Record<string, string> = {};
  for (const name of BLOCKS) {
    const block = items.find((item) => item.name === name);
    if (!block) continue;
    const policy = readPolicyLevel(block.items) ?? '';
    if (!['deny', 'read', 'write', ...(name === 'plugin' ? ['list'] : [])].includes(policy)) {
      throw new Error(
        `Invalid ${name} policy: &acl.${name[0]!.toUpperCase()}${name.slice(1)}Policy{Policy:"${policy}"}`,
      );
    }
    blocks[name] = policy;
  }
  return { namespaces, blocks, raw };
}

/** As `RulesJSON` shows it. */
function parseNamespace({ labels, items }: HclItem) {
  const name = labels[0] ?? '';
  const policy = readPolicyLevel(items) ?? '';
  const given = readCapabilities(items);
  if (policy !== '' && !NAMESPACE_POLICIES.includes(policy)) {
    const fields = `Name:"${name}", Policy:"${policy}", Capabilities:[]string(nil), Variables:(*acl.VariablesPolicy)(nil)`;
    throw new Error(`Invalid namespace policy: &acl.NamespacePolicy{${fields}}`);
  }
  const all = [...(given ?? []), ...(EXPANDED[policy] ?? [])];
  return { Capabilities: all.length === 0 ? null : [...new Set(all)], Name: name, Policy: policy, Variables: null };
}

/** The member `RulesJSON` of a policy. Fields without a rule are null. */
function rulesJson({ namespaces, blocks, raw }: ParsedRules) {
  const block = (name: string) => (blocks[name] === undefined ? null : { Policy: blocks[name] });
  return {
    Agent: block('agent'),
    ExtraKeysHCL: null,
    HostVolumes: null,
    Namespaces: namespaces.length === 0 ? null : namespaces,
    Node: block('node'),
    NodePools: null,
    Operator: block('operator'),
    Plugin: block('plugin'),
    Quota: block('quota'),
    Raw: raw,
    Sentinel: null,
  };
}

/** What the policies of a token say together. */
export type Acl = readonly ParsedRules[];

export function readsAgent(acl: Acl): boolean {
  return acl.some(({ blocks }) => ['read', 'write'].includes(blocks.agent ?? ''));
}

/** Whether any of the capabilities is granted in the namespace; `*`: in any namespace. `deny` wins. */
export function allowsNamespace(acl: Acl, namespace: string, capabilities: readonly string[]): boolean {
  if (namespace === '*') return acl.some((rules) => rules.namespaces.some((rule) => grants([rule], capabilities)));
  return grants(closestRules(acl, namespace), capabilities);
}

/** Whether the token may do anything in the namespace, so that the list of namespaces shows it. */
export function seesNamespace(acl: Acl, namespace: string): boolean {
  return closestRules(acl, namespace).some(({ Capabilities }) => Capabilities && !Capabilities.includes('deny'));
}

export function allowsPlugin(acl: Acl, isRead: boolean): boolean {
  const policies = acl.map(({ blocks }) => blocks.plugin);
  if (policies.includes('deny')) return false;
  return policies.includes('read') || (!isRead && policies.includes('list'));
}

function grants(rules: readonly NamespaceRule[], wanted: readonly string[]): boolean {
  const granted = rules.flatMap(({ Capabilities }) => Capabilities ?? []);
  return !granted.includes('deny') && wanted.some((capability) => granted.includes(capability));
}

/** Of each policy the rule with this name, else the glob with the longest literal part that matches. */
function closestRules(acl: Acl, namespace: string): readonly NamespaceRule[] {
  return acl.flatMap(({ namespaces }) => {
    const matches = (glob: string) => new RegExp(`^${globPattern(glob, '*', '.*')}$`, 'u').test(namespace);
    const globs = namespaces.filter(({ Name }) => Name.includes('*') && matches(Name));
    const [longest] = globs.sort((a, b) => b.Name.length - a.Name.length);
    return namespaces.find(({ Name }) => Name === namespace) ?? longest ?? [];
  });
}
