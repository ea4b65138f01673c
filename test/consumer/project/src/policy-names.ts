import { defineSource, extractPages, scheduler } from 'tidemark';

/** The names of the ACL policies. */
export const policyNames = defineSource({
  name: 'policy_names',
  kind: 'scheduler',
  extract: async (context) => {
    await extractPages(context, scheduler.policies.list, {});
  },
  checkAccess: (client) => client.call(scheduler.policies.list),
});
