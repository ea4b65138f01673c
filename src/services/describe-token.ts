import { meshMounts, type Target, type TargetKind } from '../config/config.ts';
import { listAt, textAt, toFields, valueAt } from '../core/json-path.ts';
import { ServiceError } from '../http/errors.ts';
import { applyMount } from './build-request.ts';
import type { ServiceClient } from './client.ts';
import { takeRefusal, tokenOperations } from './describe-server.ts';
import type { Operation } from './operation.ts';
import { seesEveryNamespace } from './scheduler/acl-rules.ts';
import { scheduler } from './scheduler/operations.ts';
import { secrets } from './secrets/operations.ts';
import type { Fields } from './token-fields.ts';
import { assertTexts, namesField, optional, otherFields, timeField, UnreadableField } from './token-fields.ts';
import { validatePathValue } from './validate-request.ts';

/** What a service says about a token. It never contains the token itself. */
export interface TokenInfo {
  /** A public ID of the token, or of its account; null if the service reports none. */
  readonly accessor_id: string | null;
  readonly name: string | null;
  /**
   * The service's own type: `client`, `management`, `service`, `batch`, `user`, `team`, `organization`; `anonymous` for requests
   * without a token; `acl-disabled` for a service that checks no tokens.
   */
  readonly type: string | null;
  readonly policies: readonly string[];
  readonly roles: readonly string[];
  /** Whether it may do everything; null if the service does not tell. */
  readonly is_management: boolean | null;
  /** What it may do, as the service reports it; null if the service does not tell. */
  readonly rights: Readonly<Record<string, unknown>> | null;
  /** Whether its policies at the scheduler show it the volumes of every namespace; null where that is not known. */
  readonly sees_every_namespace: boolean | null;
  readonly created_at: string | null;
  /** Null if it does not end, or the service does not tell. */
  readonly expires_at: string | null;
  /** Other fields that the service reports. */
  readonly extra: Readonly<Record<string, unknown>> | null;
}

const ANONYMOUS: TokenInfo = {
  accessor_id: null,
  name: null,
  type: 'anonymous',
  policies: [],
  roles: [],
  is_management: false,
  rights: null,
  sees_every_namespace: null,
  created_at: null,
  expires_at: null,
  extra: null,
};

const ACL_DISABLED = { type: 'acl-disabled', is_management: null };

interface TokenQuestion {
  readonly operation: Operation;
  /** What the answer says, beside what is `ANONYMOUS`. */
  readonly read: (answer: Fields, client: ServiceClient) => Partial<TokenInfo> | Promise<Partial<TokenInfo>>;
}

/** The other services take no token. */
const QUESTIONS: Readonly<Partial<Record<TargetKind, TokenQuestion>>> = {
  platform: { operation: tokenOperations.account, read: readPlatformToken },
  secrets: { operation: tokenOperations.lookup, read: readSecretsToken },
  scheduler: { operation: tokenOperations.scheduler, read: readSchedulerToken },
  mesh: { operation: tokenOperations.mesh, read: readMeshToken },
};

/**
 * Asks a service who the token of its target is. The result contains no secret.
 * @throws ServiceError if the service refuses the token, or answers with something else than a token
 */
export async function describeToken(client: ServiceClient): Promise<TokenInfo> {
  const { kind, name: target, token } = client.target;
  const question = QUESTIONS[kind];
  if (!question) return ANONYMOUS;
  const hasAcl = kind === 'scheduler' || kind === 'mesh';
  try {
    const answer = toFields((await client.call(question.operation)).json());
    return { ...ANONYMOUS, ...(await question.read(answer, client)) };
  } catch (error) {
    if (hasAcl && isAclDisabled(error)) return { ...ANONYMOUS, ...ACL_DISABLED };
    if (hasAcl && token === undefined && lacksToken(error)) return ANONYMOUS;
    if (!(error instanceof UnreadableField)) throw error;
    const serviceMessage = `expected a description of the token with ${error.message}`;
    throw new ServiceError({ failure: 'malformed', serviceMessage, operation: question.operation.name, target });
  }
}

/** Whether a request without a token is refused: with 403, by Nomad before 1.10.1 with 500. */
function lacksToken(error: unknown): boolean {
  return error instanceof ServiceError && (error.status === 403 || /missing secret id/iu.test(error.serviceMessage));
}

/** Nomad says it with 400, Consul with 401. */
export function isAclDisabled(error: unknown): boolean {
  return error instanceof ServiceError && /ACL support disabled/iu.test(error.serviceMessage);
}

async function readPlatformToken(answer: Fields, client: ServiceClient) {
  const data = toFields(answer.data);
  assertTexts(data, ['id']);
  const attributes = toFields(data.attributes);
  const username = textAt(attributes, 'username');
  const resource = textAt(data, 'relationships', 'authenticated-resource', 'data', 'type') ?? '';
  // What a token is of, which the products tell since November 2023.
  const [, type = accountType(username)] = /^(organization|team|user)s$/u.exec(resource) ?? [];
  const entitlements = await optional(client.call(tokenOperations.entitlements));
  return {
    accessor_id: textAt(data, 'id'),
    name: username,
    type,
    is_management: type === 'organization' ? true : null,
    rights: entitlements ? toFields(valueAt(entitlements.json(), 'data', 'attributes')) : null,
    // Personal data and links to pictures of a person are of no use here.
    extra: otherFields(attributes, ['username', 'email', 'unconfirmed-email', 'avatar-url', 'the-answer']),
  };
}

/** The names of the accounts that the platform creates for the tokens of organizations and teams. */
function accountType(username: string | null): string | null {
  if (username === null) return null;
  if (username.startsWith('api-org-')) return 'organization';
  return username.startsWith('api-team') ? 'team' : 'user';
}

/** Fields that the server computes from the clock or from the use of the token. */
const VAULT_COMPUTED = ['ttl', 'num_uses', 'last_renewal', 'last_renewal_time', 'creation_time'];
const VAULT_KNOWN = ['accessor', 'display_name', 'type', 'policies', 'expire_time', 'issue_time', 'id'];

async function readSecretsToken(answer: Fields, client: ServiceClient) {
  const data = toFields(answer.data);
  if (!data.policies && !data.identity_policies) throw new UnreadableField('`policies`');
  const policies = [...new Set([...namesField(data, 'policies'), ...namesField(data, 'identity_policies')])].sort();
  const questions = listQuestions(client.target);
  const paths = [...questions.values()];
  const capabilities = await optional(client.call(tokenOperations.capabilities, {}, { body: { paths } }));
  return {
    accessor_id: textAt(data, 'accessor'),
    name: textAt(data, 'display_name'),
    type: textAt(data, 'type'),
    policies,
    is_management: policies.includes('root'),
    rights: capabilities ? readCapabilities(toFields(capabilities.json()), questions) : null,
    created_at: timeField(data, 'issue_time'),
    expires_at: timeField(data, 'expire_time'),
    extra: otherFields(data, [...VAULT_KNOWN, ...VAULT_COMPUTED]),
  };
}

/** An operation's path as policies name it, for each mount of its engine: `consul/roles/+`, where `+` is any name. */
export function policyPaths(path: string, target: Target): readonly string[] {
  const paths = meshMounts(target).map((mount) => applyMount(path, target, mount));
  return [...new Set(paths)].map((one) => one.slice(1).replaceAll(/\{[^}]+\}/gu, '+'));
}

/** Each path with what is asked for it: Vault compares that of a list with a slash at its end (docs/services/secrets.md#listing). */
function listQuestions(target: Target): ReadonlyMap<string, string> {
  const operations: readonly Operation[] = Object.values(secrets).flatMap(Object.values);
  return new Map(
    operations.flatMap(({ path, method }) =>
      policyPaths(path, target).map((one) => [one, method === 'LIST' ? `${one}/` : one] as const),
    ),
  );
}

/** Older servers send the capabilities beside `data`. */
function readCapabilities(body: Fields, questions: ReadonlyMap<string, string>): Fields {
  const data = { ...body, ...toFields(body.data) };
  const told = [...questions].map(([path, question]) => [path, data[question] ?? data[path] ?? null] as const);
  if (!told.some(([, granted]) => Array.isArray(granted))) throw new UnreadableField('what it may do on paths');
  return Object.fromEntries(told);
}

const ACL_KNOWN = ['AccessorID', 'SecretID', 'Name', 'Description', 'Type', 'Policies', 'Roles', 'CreateTime'];
/** They follow from the other fields. */
const ACL_DERIVED = ['ExpirationTime', 'ExpirationTTL', 'Hash', 'CreateIndex', 'ModifyIndex'];

/** Nomad 2 answers so without ACLs; earlier versions refuse the question. */
const NO_ACL_ACCESSOR = 'acls-disabled';
/** Of the token that Nomad 1.10 shows to a request without one. */
const NO_TOKEN_ACCESSOR = 'anonymous';

async function readSchedulerToken(fields: Fields, client: ServiceClient) {
  assertTexts(fields, ['AccessorID', 'Type']);
  if (textAt(fields, 'AccessorID') === NO_ACL_ACCESSOR) return ACL_DISABLED;
  const type = textAt(fields, 'Type');
  const isManagement = type === 'management';
  if (!isManagement && type !== 'client') throw new UnreadableField('`Type` as client or management');
  const policies = isManagement ? null : await readOwnPolicies(client);
  return {
    ...aclFields(fields),
    name: textAt(fields, 'Name'),
    type: textAt(fields, 'AccessorID') === NO_TOKEN_ACCESSOR ? 'anonymous' : type,
    is_management: isManagement,
    rights: policies && Object.fromEntries(policies),
    sees_every_namespace: policies && (seesEveryNamespace(policies.map(([, rules]) => rules)) ?? null),
  };
}

function aclFields(fields: Fields) {
  return {
    accessor_id: textAt(fields, 'AccessorID'),
    policies: namesField(fields, 'Policies'),
    roles: namesField(fields, 'Roles'),
    created_at: timeField(fields, 'CreateTime'),
    expires_at: timeField(fields, 'ExpirationTime'),
    extra: otherFields(fields, [...ACL_KNOWN, ...ACL_DERIVED]),
  };
}

/** More policies or roles than any token has. Where there are more, what they grant is not read. */
const MAX_LINKS = 64;

/** The names and rules of the policies that a client token has. It lists and reads its own policies only. */
async function readOwnPolicies(client: ServiceClient): Promise<readonly (readonly [string, string | null])[] | null> {
  const items = await optional(listOwnPolicies(client));
  if (!items) return null;
  const names = items.flatMap((item) => textAt(item, 'Name') ?? []).sort();
  if (names.length < items.length || items.length > MAX_LINKS) return null;
  if (!names.every((name) => isSendable(name, client))) return null;
  return Promise.all(
    names.map(async (name) => {
      const policy = await optional(client.call(scheduler.policies.read, { policy_name: name }));
      return [name, policy ? textAt(policy.json(), 'Rules') : null] as const;
    }),
  );
}

/** Those of the first page that has more than are read, and of all pages before it. */
async function listOwnPolicies(client: ServiceClient): Promise<readonly unknown[]> {
  const items: unknown[] = [];
  for await (const page of client.pages(scheduler.policies.list)) {
    for (const item of page.items) items.push(item); // of a hostile page, more than a call takes arguments
    if (items.length > MAX_LINKS) break;
  }
  return items;
}

/** Whether what a service names can be asked for: it may be no name. */
function isSendable(name: string | null, { target }: ServiceClient): name is string {
  return name !== null && validatePathValue('name', name, target).length === 0;
}

/** Consul's built-in policy that permits everything. It may be renamed, and keeps its ID. */
const GLOBAL_MANAGEMENT = { ID: '00000000-0000-0000-0000-000000000001', Name: 'global-management' };
/** The token that Consul uses for requests without one. */
const ANONYMOUS_ACCESSOR = '00000000-0000-0000-0000-000000000002';

async function readMeshToken(fields: Fields, client: ServiceClient) {
  assertTexts(fields, ['AccessorID']);
  const acl = aclFields(fields);
  const isManagement = hasGlobalManagement(fields) || (await hasManagementRole(fields, client));
  const known = isManagement === null ? null : isManagement ? 'management' : 'client';
  const type = acl.accessor_id === ANONYMOUS_ACCESSOR ? 'anonymous' : known;
  return { ...acl, name: textAt(fields, 'Description'), type, is_management: isManagement };
}

/** Of a token or a role. */
function hasGlobalManagement(fields: Fields): boolean {
  const { ID, Name } = GLOBAL_MANAGEMENT;
  const policies = listAt(fields, 'Policies') ?? [];
  return policies.some((policy) => textAt(policy, 'ID') === ID || textAt(policy, 'Name') === Name);
}

/** Whether a role of the token has the policy; null where that is not known. */
async function hasManagementRole(fields: Fields, client: ServiceClient): Promise<boolean | null> {
  const ids = (listAt(fields, 'Roles') ?? []).map((role) => textAt(role, 'ID'));
  if (ids.length > MAX_LINKS) return null;
  const found = await Promise.all(ids.map((id) => (isSendable(id, client) ? isManagementRole(id, client) : null)));
  return found.includes(true) || (found.includes(null) ? null : false);
}

/** Whoever has the policy may read roles, so that a refusal by Consul says that this token does not have it. */
async function isManagementRole(id: string, client: ServiceClient): Promise<boolean | null> {
  const asked = client.call(tokenOperations.role, { role_id: id });
  const answer = await asked.catch(takeRefusal);
  if (!(answer instanceof ServiceError)) return hasGlobalManagement(toFields(answer.json()));
  return answer.failure === 'forbidden' && answer.details.isForeign !== true ? false : null;
}
