import { defineOperation, queryParam } from '../operation.ts';

/** Lists the storage plugins. Only the real product has it, so it is not one of the operations that `tidemark api` lists. */
export const listPlugins = defineOperation({
  kind: 'scheduler',
  name: 'scheduler.plugins.list',
  method: 'GET',
  path: '/plugins',
  description: 'lists the storage plugins',
  params: { type: queryParam('csi') },
  responseType: 'array',
  mutates: false,
  retryPolicy: 'safe',
  reversible: true,
  permission: 'none',
  hashicorpPermission: 'plugin:list',
  docsUrl: 'docs/services/scheduler.md#external-volumes',
});
