import { z } from 'zod';
import { ASK, defineOperations, filledText, optionalText, pathParam, queryParam, requiredBody } from './operation.ts';
import { permit } from './permission.ts';

const authorize = z.looseObject({
  Target: filledText,
  ClientCertURI: filledText,
  ClientCertSerial: filledText,
  Namespace: optionalText,
});

export const mesh = defineOperations('mesh', {
  connect: {
    authorize: {
      ...ASK,
      path: '/agent/connect/authorize',
      description: 'checks whether a client may connect to a service',
      params: { ns: queryParam('namespace, where the body has none (enterprise only)') },
      body: requiredBody(
        authorize,
        '{"Target": "db", "ClientCertURI": "spiffe://…/svc/web", "ClientCertSerial": "04:00:0f"}',
      ),
      permission: permit({ scope: 'service', policy: 'write' }),
      section: 'authorize',
    },
  },
  'ca-roots': {
    read: { path: '/agent/connect/ca/roots', description: 'reads the trusted CA roots', itemsPath: 'Roots' },
  },
  'ca-leaf': {
    read: {
      path: '/agent/connect/ca/leaf/{service}',
      description: 'reads the leaf certificate of a service, with its private key',
      describes: { service: ['Service'] },
      params: { service: pathParam('name of the service'), ns: queryParam('namespace (enterprise only)') },
      permission: permit({ scope: 'service', policy: 'write' }),
      section: 'leaf-certificates',
    },
  },
});

export type MeshService = ReturnType<typeof parseService>;

/** @param key as `services` of the target names it: `web`, or `team/web` in a namespace */
export function parseService(key: string) {
  const at = key.indexOf('/');
  return { key, service: key.slice(at + 1), ns: at < 0 ? undefined : key.slice(0, at) };
}

/** Lists the services of the catalog. Only the real product has it, so it is not one of the operations that `tidemark api` lists. */
export const listServices = defineOperations('mesh', {
  catalog: {
    services: {
      path: '/catalog/services',
      description: 'lists the names of the registered services',
      params: { ns: queryParam('namespace (enterprise only)') },
      hashicorpPermission: permit(
        { scope: 'prefix', kind: 'node_prefix', policy: 'read' },
        { scope: 'prefix', kind: 'service_prefix', policy: 'read' },
      ),
      section: 'leaf-certificates',
    },
  },
}).catalog.services;
