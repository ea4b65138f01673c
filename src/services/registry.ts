import { defineOperations, pathParam, queryParam } from './operation.ts';

/** Operations of a registry of providers and modules. The public one takes no token. */

const namespace = pathParam('who publishes it');

export const registry = defineOperations('registry', {
  discovery: {
    read: { path: '/.well-known/terraform.json', description: 'shows the paths of the services', section: 'versions' },
  },
  providers: {
    versions: {
      path: '/v1/providers/{namespace}/{name}/versions',
      description: 'lists all versions of a provider',
      params: { namespace, name: pathParam('name of the provider') },
      itemsPath: 'versions',
      section: 'versions',
    },
    read: {
      path: '/v2/providers/{namespace}/{name}',
      description: 'reads a provider with its warning; with the dates of up to 500 versions, if they are included',
      params: {
        namespace,
        name: pathParam('name of the provider'),
        include: queryParam('`provider-versions` for the versions with their dates'),
      },
      responseType: 'document',
      section: 'dates-and-warnings',
    },
  },
  modules: {
    versions: {
      path: '/v1/modules/{namespace}/{name}/{provider}/versions',
      description: 'lists all versions of a module',
      params: { namespace, name: pathParam('name of the module'), provider: pathParam('provider that it is for') },
      itemsPath: 'modules',
      section: 'versions',
    },
  },
});
