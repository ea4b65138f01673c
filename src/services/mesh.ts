import { z } from 'zod';
import { defineOperation, pathParam, queryParam } from './operation.ts';
import { combinePermissions, prefixPolicy, requirePolicy } from './permission.ts';

/** Operations of the agent-local mesh endpoints. */

const read = { kind: 'mesh', method: 'GET', mutates: false, retryPolicy: 'safe', reversible: true } as const;
const DOCS = 'docs/services/mesh.md';
const filled = z.string('is required').min(1, 'must not be empty');

const authorize = z.looseObject({
  Target: filled,
  ClientCertURI: filled,
  ClientCertSerial: filled,
  Namespace: z.string('must be text').optional(),
});

export const mesh = {
  connect: {
    authorize: defineOperation({
      ...read,
      method: 'POST',
      name: 'mesh.connect.authorize',
      path: '/agent/connect/authorize',
      description: 'checks whether a client may connect to a service',
      params: { ns: queryParam('namespace, where the body has none (enterprise only)') },
      body: {
        schema: authorize,
        required: true,
        example: '{"Target": "db", "ClientCertURI": "spiffe://…/svc/web", "ClientCertSerial": "04:00:0f"}',
      },
      responseType: 'object',
      permission: requirePolicy('service', 'write'),
      docsUrl: `${DOCS}#authorize`,
    }),
  },
  'ca-roots': {
    read: defineOperation({
      ...read,
      name: 'mesh.ca-roots.read',
      path: '/agent/connect/ca/roots',
      description: 'reads the trusted CA roots',
      params: {},
      responseType: 'object',
      itemsPath: 'Roots',
      permission: 'none',
      docsUrl: `${DOCS}#ca-roots`,
    }),
  },
  'ca-leaf': {
    read: defineOperation({
      ...read,
      name: 'mesh.ca-leaf.read',
      path: '/agent/connect/ca/leaf/{service}',
      description: 'reads the leaf certificate of a service, with its private key',
      params: { service: pathParam('name of the service'), ns: queryParam('namespace (enterprise only)') },
      responseType: 'object',
      permission: requirePolicy('service', 'write'),
      docsUrl: `${DOCS}#leaf-certificates`,
    }),
  },
} as const;

/** Lists the services of the catalog. Only the real product has it, so it is not one of the operations that `tidemark api` lists. */
export const listServices = defineOperation({
  kind: 'mesh',
  name: 'mesh.catalog.services',
  method: 'GET',
  path: '/catalog/services',
  description: 'lists the names of the registered services',
  params: {},
  responseType: 'object',
  mutates: false,
  retryPolicy: 'safe',
  reversible: true,
  permission: 'none',
  hashicorpPermission: combinePermissions(prefixPolicy('node_prefix', 'read'), prefixPolicy('service_prefix', 'read')),
  docsUrl: 'docs/services/mesh.md#leaf-certificates',
});
