import { z } from 'zod';
import { defineOperations, requiredBody } from '../operation.ts';
import { ANY_TOKEN, capabilities, readAgent } from '../permission.ts';

/**
 * The operations that describe the token of a request, and the service itself. Only the real products have them, so they are not part
 * of the operations that `tidemark api` lists.
 */

const read = {
  method: 'GET',
  mutates: false,
  retryPolicy: 'safe',
  reversible: true,
  responseType: 'object',
  permission: 'none',
  section: 'authentication',
} as const;
const document = { ...read, responseType: 'document', permission: ANY_TOKEN } as const;
const self = { ...read, path: '/acl/token/self', description: 'describes the token' } as const;

const platform = defineOperations('platform', {
  account: {
    /** The user, team or organization that a token belongs to. */
    details: {
      ...document,
      path: '/account/details',
      description: 'shows the account of the token',
      permission: 'none',
    },
  },
  organization: {
    read: { ...document, path: '/organizations/{organization_name}', description: 'shows the organization' },
    entitlements: {
      ...document,
      path: '/organizations/{organization_name}/entitlement-set',
      description: 'shows what the plan of the organization includes',
    },
  },
});

const secrets = defineOperations('secrets', {
  token: {
    'lookup-self': {
      ...read,
      path: '/auth/token/lookup-self',
      description: 'describes the token',
      responseType: 'data',
      permission: capabilities('read'),
    },
    'capabilities-self': {
      ...read,
      method: 'POST',
      path: '/sys/capabilities-self',
      description: 'reports what the token may do on paths',
      body: requiredBody(z.object({ paths: z.array(z.string()) }), '{"paths": ["consul/roles"]}'),
      permission: capabilities('update'),
    },
  },
  mounts: {
    /** The engines that the token can see, by path. Every token may ask. */
    list: {
      ...read,
      path: '/sys/internal/ui/mounts',
      description: 'lists the engines that the token can see',
      responseType: 'data',
    },
  },
  health: {
    /** The state of a server, also of one that is sealed. The codes make it answer 200 in every state. */
    read: {
      ...read,
      path: '/sys/health?standbyok=true&perfstandbyok=true&sealedcode=200&uninitcode=200&drsecondarycode=200',
      description: 'shows whether the server is initialized, unsealed and active',
      section: 'errors',
    },
  },
});

/** The cluster of a server that serves. Without the parameters, a standby answers with an error. */
const cluster = defineOperations('secrets', {
  health: {
    read: { ...read, path: '/sys/health?standbyok=true&perfstandbyok=true', description: 'shows the cluster' },
  },
}).health.read;

const scheduler = defineOperations('scheduler', {
  token: { self },
  agent: {
    self: {
      ...read,
      path: '/agent/self',
      description: 'shows the agent and its region',
      permission: readAgent('agent'),
    },
  },
});

/** Who a token is. */
export const tokenOperations = {
  account: platform.account.details,
  entitlements: platform.organization.entitlements,
  lookup: secrets.token['lookup-self'],
  capabilities: secrets.token['capabilities-self'],
  scheduler: scheduler.token.self,
  mesh: defineOperations('mesh', { token: { self } }).token.self,
} as const;

/** What a service says it is. */
export const identityOperations = {
  organization: platform.organization.read,
  cluster,
  agent: scheduler.agent.self,
} as const;

/** Which product a server is, and of which version. */
export const versionOperations = {
  platform: defineOperations('platform', {
    ping: {
      read: {
        ...read,
        path: '/ping',
        description: 'shows the product and its version in headers',
        responseType: 'any',
      },
    },
  }).ping.read,
  secrets: secrets.health.read,
  scheduler: scheduler.agent.self,
  mesh: defineOperations('mesh', {
    agent: {
      self: { ...read, path: '/agent/self', description: 'shows the agent', permission: readAgent('agent_prefix ""') },
    },
  }).agent.self,
} as const;

export const listMounts = secrets.mounts.list;
export const readHealth = secrets.health.read;
