import { z } from 'zod';
import type { Target, TargetKind } from '../config/config.ts';
import { textAt, valueAt } from '../core/json-path.ts';
import { catchFailure, ServiceError } from '../http/errors.ts';
import type { ServiceClient, ServiceClients } from './client.ts';
import { autoscaler, mesh as meshOperations, operations } from './index.ts';
import { ASK, defineOperations, type Operation, pathParam, requiredBody } from './operation.ts';
import { ANY_TOKEN, capabilities, NO_RIGHTS, readAgent } from './permission.ts';
import type { ServiceResponse } from './response.ts';

/**
 * The operations that describe the token of a request, and the service itself. Only the real products have them, so they are not part
 * of the operations that `tidemark api` lists.
 */

const section = 'authentication';
const document = { responseType: 'document', permission: ANY_TOKEN, section } as const;
const token = { self: { path: '/acl/token/self', description: 'describes the token', section } } as const;
const agent = { path: '/agent/self', section } as const;
const organization = '/organizations/{organization_name}';

const platform = defineOperations('platform', {
  account: {
    details: {
      ...document,
      path: '/account/details',
      description: 'shows the account of the token',
      permission: NO_RIGHTS,
    },
  },
  organization: {
    read: { ...document, path: organization, description: 'shows the organization' },
    entitlements: {
      ...document,
      path: `${organization}/entitlement-set`,
      description: 'shows what the plan of the organization includes',
    },
  },
  ping: {
    read: { path: '/ping', description: 'shows the product and its version in headers', responseType: 'any', section },
  },
});

/** States in which Vault answers its health with a status of an error, each with a parameter that sets another: since 1.19 the last two. */
const HEALTH_CODES = ['sealedcode', 'uninitcode', 'drsecondarycode', 'haunhealthycode', 'removedcode'];

const secrets = defineOperations('secrets', {
  token: {
    'lookup-self': {
      path: '/auth/token/lookup-self',
      description: 'describes the token',
      responseType: 'data',
      permission: capabilities('read'),
      section,
    },
    'capabilities-self': {
      ...ASK,
      path: '/sys/capabilities-self',
      description: 'reports what the token may do on paths',
      body: requiredBody(z.object({ paths: z.array(z.string()) }), '{"paths": ["consul/roles"]}'),
      permission: capabilities('update'),
      section,
    },
  },
  mounts: {
    /** Every token may ask. */
    list: {
      path: '/sys/internal/ui/mounts',
      description: 'lists the engines that the token can see',
      responseType: 'data',
      section,
    },
  },
  health: {
    /** Also of a server that is sealed: the codes make it answer 200 in every state. */
    read: {
      path: `/sys/health?standbyok=true&perfstandbyok=true&${HEALTH_CODES.map((name) => `${name}=200`).join('&')}`,
      description: 'shows whether the server is initialized, unsealed and active',
      section: 'errors',
    },
    /** Of a server that serves. Without the parameters, a standby answers with an error. */
    cluster: { path: '/sys/health?standbyok=true&perfstandbyok=true', description: 'shows the cluster', section },
  },
});

const scheduler = defineOperations('scheduler', {
  token,
  agent: { self: { ...agent, description: 'shows the agent and its region', permission: readAgent('agent') } },
});

const mesh = defineOperations('mesh', {
  token,
  role: {
    read: {
      path: '/acl/role/{role_id}',
      description: 'reads a role with the links to its policies',
      params: { role_id: pathParam('ID of the role') },
      section: 'authentication',
    },
  },
  agent: { self: { ...agent, description: 'shows the agent', permission: readAgent('agent_prefix ""') } },
});

export const secretsServer = { mounts: secrets.mounts.list, health: secrets.health.read } as const;

export const tokenOperations = {
  account: platform.account.details,
  entitlements: platform.organization.entitlements,
  lookup: secrets.token['lookup-self'],
  capabilities: secrets.token['capabilities-self'],
  scheduler: scheduler.token.self,
  mesh: mesh.token.self,
  role: mesh.role.read,
} as const;

/** What a service says it is: names and IDs of the installation, which another one at the same address does not have. */
export type ServiceIdentity = Readonly<Record<string, string>>;

/** `fields`: where the answer has the fields of the identity. */
interface IdentityQuestion {
  readonly operation: Operation;
  readonly fields: Readonly<Record<string, readonly string[]>>;
}

export const IDENTITY_QUESTIONS: Readonly<Partial<Record<TargetKind, IdentityQuestion>>> = {
  platform: {
    operation: platform.organization.read,
    fields: { organization_id: ['data', 'attributes', 'external-id'] },
  },
  secrets: {
    operation: secrets.health.cluster,
    fields: { cluster_id: ['cluster_id'], cluster_name: ['cluster_name'] },
  },
  scheduler: { operation: scheduler.agent.self, fields: { region: ['config', 'Region'] } },
  mesh: { operation: meshOperations['ca-roots'].read, fields: { trust_domain: ['TrustDomain'] } },
};

/** `cluster_id is b, and was a`; undefined where what both say is the same. */
export function describeOther(before: ServiceIdentity = {}, now: ServiceIdentity = {}): string | undefined {
  const [field] = Object.keys(now).filter((name) => (before[name] ?? now[name]) !== now[name]);
  return field && `${field} is ${now[field]}, and was ${before[field]}`;
}

interface VersionQuestion {
  readonly operation: Operation;
  readonly read: (response: ServiceResponse) => Readonly<Record<'product' | 'version', string | null>>;
  /** The product of a server that refuses the question. */
  readonly refused: string | null;
}

/** Asked of the real products; the documented services tell no version. */
export const VERSION_QUESTIONS: Readonly<Record<Exclude<TargetKind, 'registry'>, VersionQuestion>> = {
  platform: { operation: platform.ping.read, read: readPing, refused: null },
  secrets: { operation: secrets.health.read, read: readVaultHealth, refused: null },
  scheduler: { operation: scheduler.agent.self, read: readNomadAgent, refused: 'nomad' },
  mesh: { operation: mesh.agent.self, read: readConsulAgent, refused: 'consul' },
  autoscaler: {
    operation: autoscaler.health.read,
    read: () => ({ product: 'nomad-autoscaler', version: null }),
    refused: 'nomad-autoscaler',
  },
};

/** More than any name, ID or version has. */
const [MAX_FIELD_LENGTH, MAX_VERSION_LENGTH] = [200, 100];

/**
 * Asks the service of a target what it is, in no namespace: null where it does not say, as it has no such endpoint, or the token may not
 * read it.
 * @throws ServiceError where the service cannot answer.
 */
export async function identifyService(clients: ServiceClients, { namespace: _, ...target }: Target) {
  const question = IDENTITY_QUESTIONS[target.kind];
  // The API documents have one of the endpoints.
  if (!question || (target.flavor !== 'hashicorp' && !operations.has(question.operation.name))) return null;
  const name = `${target.name} (identity)`;
  const asked = clients.get({ ...target, name }).call(question.operation);
  const answer = await asked.catch(takeRefusal).finally(() => clients.release(name));
  const body = answer instanceof ServiceError ? undefined : answer.json();
  const said = Object.entries(question.fields).flatMap(([field, path]) => {
    const value = textAt(body, ...path);
    return value === null ? [] : [[field, clients.mask(value).slice(0, MAX_FIELD_LENGTH)]];
  });
  return said.length === 0 ? null : Object.fromEntries(said);
}

/**
 * Asks a server for its product and version. A token that may not ask, and a server without the endpoint, leave the version unknown.
 * @param mask hides secrets, before a part of one is cut off or spelled otherwise
 * @returns `product`: `vault`, `openbao`, `hcp-terraform` …; null where the server does not tell. `note`: why the server was not heard; null
 * where it answered, with or without a version
 * @throws ServiceError where the server cannot answer.
 */
export async function askVersion(client: ServiceClient, mask: (text: string) => string) {
  const { operation, read, refused } = VERSION_QUESTIONS[client.target.kind as keyof typeof VERSION_QUESTIONS];
  const answer = await client.call(operation).catch(takeRefusal);
  if (answer instanceof ServiceError) {
    const note = `its version is not known: ${operation.path.split('?', 1)[0]} answered ${answer.status}`;
    return { product: refused, version: null, note };
  }
  const { product, version } = read(answer);
  const show = (text: string) => mask(text).slice(0, MAX_VERSION_LENGTH);
  const shown =
    product &&
    show(product)
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/gu, '-');
  return { product: shown, version: version === null ? null : show(version), note: null };
}

/** For `catch`: a service that has no such endpoint, or whose token may not ask. @throws every other error, where the service is at fault */
export const takeRefusal = catchFailure(({ status = 0 }) => [400, 401, 403, 404, 405].includes(status));

/** `HCP Terraform`, which has no version, and `Terraform Enterprise`. */
function readPing({ headers }: ServiceResponse) {
  const version = headers.get('x-tfe-version') || null;
  return { product: headers.get('tfp-appname') || (version === null ? null : 'terraform-enterprise'), version };
}

/**
 * OpenBao answers as the Vault that it began as, with versions from 2.0 on; a Vault of such a version says whether it is of the enterprise
 * edition.
 */
function readVaultHealth(response: ServiceResponse) {
  const body = response.json();
  const enterprise = valueAt(body, 'enterprise');
  const version = plainText(body, 'version');
  if (version === null) return { product: null, version };
  const isVault = enterprise !== undefined || /^v?[01]\./u.test(version);
  return { product: isVault ? 'vault' : 'openbao', version: withEdition(version, enterprise === true) };
}

function readNomadAgent(response: ServiceResponse) {
  const body = response.json();
  const [version, prerelease, metadata] = ['', 'Prerelease', 'Metadata'].map((part) =>
    plainText(body, 'config', 'Version', `Version${part}`),
  );
  const full = version && `${version}${prerelease ? `-${prerelease}` : ''}${metadata ? `+${metadata}` : ''}`;
  return { product: 'nomad', version: full ?? plainText(body, 'member', 'Tags', 'build') };
}

function readConsulAgent(response: ServiceResponse) {
  const body = response.json();
  const version = plainText(body, 'Config', 'Version');
  const isEnterprise = plainText(body, 'DebugConfig', 'VersionMetadata') === 'ent';
  return { product: 'consul', version: version && withEdition(version, isEnterprise) };
}

/** Consul 1.13.8 ends its version with a line break. */
const plainText = (...place: Parameters<typeof textAt>) => textAt(...place)?.trim() ?? null;

/** The editions have different lifetimes. */
function withEdition(version: string, isEnterprise: boolean): string {
  return isEnterprise && !version.includes('+') ? `${version}+ent` : version;
}
