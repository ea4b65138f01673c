import { defineSource, scheduler } from 'tidemark';

/** The names of the ACL policies. */
export const policyNames = defineSource({
  name: 'policy_names',
  kind: 'scheduler',
  extract: async ({ client, landing }) => {
    for await (const page of client.pages(scheduler.policies.list)) {
      landing.expectRows(page.items.length);
      await landing.writeJson({}, page.text);
    }
  },
  checkAccess: (client) => client.call(scheduler.policies.list),
});
