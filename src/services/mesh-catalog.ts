import { defineOperation } from './operation.ts';

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
  permission: 'service:read',
  docsUrl: 'docs/services/mesh.md#leaf-certificates',
});
