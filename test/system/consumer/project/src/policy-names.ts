import { defineOperation, defineSource, queryParam } from 'tidemark';

const listPolicies = defineOperation({
  name: 'scheduler.policy-names.list',
  kind: 'scheduler',
  method: 'GET',
  path: '/acl/policies',
  description: 'lists the ACL policies',
  params: { prefix: queryParam('beginning of the name') },
  responseType: 'array',
  pagination: 'token',
  mutates: false,
  retryPolicy: 'safe',
  reversible: true,
  permission: 'management',
  docsUrl: 'https://developer.hashicorp.com/nomad/api-docs/acl/policies',
});

export const policyNames = defineSource({
  name: 'policy_names',
  kind: 'scheduler',
  operations: [listPolicies], // for `tidemark permissions`
  extract: async ({ client, landing }) => {
    for await (const page of client.pages(listPolicies)) {
      landing.expectRows(page.items.length); // the load fails if it finds another number of rows
      await landing.writeJson({}, page.text);
    }
  },
  checkAccess: (client) => client.call(listPolicies),
});
