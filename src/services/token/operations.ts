import { z } from 'zod';
import { ASK, defineOperations, requiredBody } from '../operation.ts';
import { ANY_TOKEN, capabilities, NO_RIGHTS, readAgent } from '../permission.ts';

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
      path: '/sys/health?standbyok=true&perfstandbyok=true&sealedcode=200&uninitcode=200&drsecondarycode=200',
      description: 'shows whether the server is initialized, unsealed and active',
      section: 'errors',
    },
  },
});

/** The cluster of a server that serves. Without the parameters, a standby answers with an error. */
const cluster = defineOperations('secrets', {
  health: {
    read: { path: '/sys/health?standbyok=true&perfstandbyok=true', description: 'shows the cluster', section },
  },
}).health.read;

const scheduler = defineOperations('scheduler', {
  token,
  agent: { self: { ...agent, description: 'shows the agent and its region', permission: readAgent('agent') } },
});

const mesh = defineOperations('mesh', {
  token,
  agent: { self: { ...agent, description: 'shows the agent', permission: readAgent('agent_prefix ""') } },
});

export const ownOperations = { platform, secrets, scheduler, mesh, cluster } as const;

/** Who a token is. */
export const tokenOperations = {
  account: platform.account.details,
  entitlements: platform.organization.entitlements,
  lookup: secrets.token['lookup-self'],
  capabilities: secrets.token['capabilities-self'],
  scheduler: scheduler.token.self,
  mesh: mesh.token.self,
} as const;
