import { ServiceError } from '../http/errors.ts';
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
    const read = async (name: string) => {
      const response = await client.call(scheduler.policies.read, { policy_name: name });
      assertSubject(response.json(), 'Name', name, 'acl_policies');
      await landing.writeJson({ name }, response.text);
      landing.expectRows(1);
    };
    const items = await relist();
    await listThenRead(context, { items, relist, read });
    if (client.target.flavor === 'hashicorp' && !items.includes(ANONYMOUS)) await read(ANONYMOUS).catch(ignoreRefusal);
  },
  checkAccess: (client) =>
    checkListAndRead(client, scheduler.policies.list, {}, (policy) => {
      const name = optionalString(policy, 'Name');
      return name === undefined ? undefined : client.call(scheduler.policies.read, { policy_name: name });
    }),
};

/** In the product every token may read this policy, also one that lists only its own: docs/services/scheduler.md#acl-policies. */
const ANONYMOUS = 'anonymous';

/** The policy does not exist, or an older version does not show it. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof ServiceError) || error.status === undefined || error.status >= 500) throw error;
}

async function listPolicies({ client }: ExtractContext): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const page of client.pages(scheduler.policies.list)) {
    for (const item of page.items) names.push(requiredString(item, 'Name', 'acl_policies', names.length));
  }
  return names;
}
