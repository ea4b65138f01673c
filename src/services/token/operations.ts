import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { ANY_TOKEN, capabilities } from '../permission.ts';

/**
 * The operations that describe the token of a request. Only the real products have them, so they are not part of the operations
 * that `tidemark api` lists.
 */

const read = { method: 'GET', mutates: false, retryPolicy: 'safe', reversible: true, params: {} } as const;

export const tokenOperations = {
  /** The user, team or organization that a token belongs to. */
  account: defineOperation({
    ...read,
    kind: 'platform',
    name: 'platform.account.details',
    path: '/account/details',
    description: 'shows the account of the token',
    responseType: 'document',
    permission: 'none',
    docsUrl: 'docs/services/platform.md#authentication',
  }),
  /** What the plan of the organization includes. */
  entitlements: defineOperation({
    ...read,
    kind: 'platform',
    name: 'platform.organization.entitlements',
    path: '/organizations/{organization_name}/entitlement-set',
    description: 'shows what the plan of the organization includes',
    responseType: 'document',
    permission: ANY_TOKEN,
    docsUrl: 'docs/services/platform.md#authentication',
  }),
  lookup: defineOperation({
    ...read,
    kind: 'secrets',
    name: 'secrets.token.lookup-self',
    path: '/auth/token/lookup-self',
    description: 'describes the token',
    responseType: 'data',
    permission: capabilities('/auth/token/lookup-self', 'read'),
    docsUrl: 'docs/services/secrets.md#authentication',
  }),
  capabilities: defineOperation({
    ...read,
    method: 'POST',
    kind: 'secrets',
    name: 'secrets.token.capabilities-self',
    path: '/sys/capabilities-self',
    description: 'reports what the token may do on paths',
    body: { schema: z.object({ paths: z.array(z.string()) }), required: true, example: '{"paths": ["consul/roles"]}' },
    responseType: 'object',
    permission: capabilities('/sys/capabilities-self', 'update'),
    docsUrl: 'docs/services/secrets.md#authentication',
  }),
  scheduler: defineOperation({
    ...read,
    kind: 'scheduler',
    name: 'scheduler.token.self',
    path: '/acl/token/self',
    description: 'describes the token',
    responseType: 'object',
    permission: 'none',
    docsUrl: 'docs/services/scheduler.md#authentication',
  }),
  mesh: defineOperation({
    ...read,
    kind: 'mesh',
    name: 'mesh.token.self',
    path: '/acl/token/self',
    description: 'describes the token',
    responseType: 'object',
    permission: 'none',
    docsUrl: 'docs/services/mesh.md#authentication',
  }),
} as const;

/** The engines that the token can see, by path. Every token may ask. */
export const listMounts = defineOperation({
  ...read,
  kind: 'secrets',
  name: 'secrets.mounts.list',
  path: '/sys/internal/ui/mounts',
  description: 'lists the engines that the token can see',
  responseType: 'data',
  permission: 'none',
  docsUrl: 'docs/services/secrets.md#authentication',
});

/** The state of a server, also of one that is sealed. The codes make it answer 200 in every state. */
export const readHealth = defineOperation({
  ...read,
  kind: 'secrets',
  name: 'secrets.health.read',
  path: '/sys/health?standbyok=true&perfstandbyok=true&sealedcode=200&uninitcode=200&drsecondarycode=200',
  description: 'shows whether the server is initialized, unsealed and active',
  responseType: 'object',
  permission: 'none',
  docsUrl: 'docs/services/secrets.md#errors',
});
