import { scheduler } from '../services/scheduler/operations.ts';
import { checkListAndRead, listThenRead } from './shared/list-and-read.ts';
import { assertSubject, type ExtractContext, optionalString, requiredString, type SourceDefinition } from './source.ts';

/** ACL policies. Their rules are returned only by reading each policy. */
export const aclPolicies: SourceDefinition = {
  name: 'acl_policies',
  kind: 'scheduler',
  operations: [scheduler.policies.list, scheduler.policies.read],
  async extract(context) {
    const { client, landing } = context;
    const relist = () => listPolicies(context);
    await listThenRead(context, {
      items: await relist(),
      relist,
      read: async (name) => {
        const response = await client.call(scheduler.policies.read, { policy_name: name });
        assertSubject(response.json(), 'Name', name, 'acl_policies');
        await landing.writeJson({ name }, response.text);
        landing.expectRows(1);
      },
    });
  },
  checkAccess: (client) =>
    checkListAndRead(client, scheduler.policies.list, {}, (policy) => {
      const name = optionalString(policy, 'Name');
      return name === undefined ? undefined : client.call(scheduler.policies.read, { policy_name: name });
    }),
};

async function listPolicies({ client }: ExtractContext): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const page of client.pages(scheduler.policies.list)) {
    for (const item of page.items) names.push(requiredString(item, 'Name', 'acl_policies', names.length));
  }
  return names;
}
