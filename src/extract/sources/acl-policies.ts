import { ServiceError } from '../../http/errors.ts';
import type { ServiceResponse } from '../../services/response.ts';
import { listGrants } from '../../services/scheduler/acl-rules.ts';
import { scheduler } from '../../services/scheduler/operations.ts';
import { checkFirst, describeFailure, listAll, listThenLand } from './shared/list-and-read.ts';
import { type ExtractContext, requiredString, type SourceDefinition } from './source.ts';

/** ACL policies. Their rules are returned only by reading each policy. */
export const aclPolicies: SourceDefinition = {
  name: 'acl_policies',
  kind: 'scheduler',
  operations: [scheduler.policies.list, scheduler.policies.read],
  unchanged: { list: 'ModifyIndex' },
  async extract(context) {
    const { client, landing } = context;
    const { policies, index } = await listPolicies(context);
    const readPolicy = (name: string, options = {}) =>
      client.call(scheduler.policies.read, { policy_name: name }, options);
    await listThenLand(context, {
      name: 'policies',
      items: policies,
      index,
      relist: async () => (await listPolicies(context)).policies,
      request: ({ key: name }) => ({
        fields: { name },
        derive: deriveGrants,
        read: (options) => readPolicy(name, options),
      }),
      isRow: true,
    });
    const isListed = policies.some(({ key }) => key === ANONYMOUS);
    if (client.target.flavor !== 'hashicorp' || isListed) return;
    const response = await readPolicy(ANONYMOUS).catch((error: unknown) => takeRefusal(context, error));
    if (!response) return;
    await landing.writeJson({ name: ANONYMOUS, ...deriveGrants(response) }, response.text);
    landing.expectRows(1);
  },
  checkAccess: checkFirst(scheduler.policies.list, scheduler.policies.read, 'policy_name'),
};

/** In the product every token may read this policy, also one that lists only its own: docs/services/scheduler.md#acl-policies. */
const ANONYMOUS = 'anonymous';

/** The policy does not exist, or it is not shown, as by an older version: what is loaded of it then stays. */
async function takeRefusal({ landing, knownParts }: ExtractContext, error: unknown): Promise<undefined> {
  if (!(error instanceof ServiceError) || error.status === undefined || error.status >= 500) throw error;
  const isAbsent = error.status === 404 && /policy not found/iu.test(error.serviceMessage);
  if (!isAbsent && (await knownParts()).has(ANONYMOUS))
    landing.addUnknown({ column: 'name', value: ANONYMOUS, reason: describeFailure(error) });
}

/** As JSON; null where the rules are not reported or not understood. */
function deriveGrants(response: ServiceResponse): Readonly<Record<string, string | null>> {
  const { Rules: rules } = response.json() as Readonly<Record<string, unknown>>;
  const grants = typeof rules === 'string' ? listGrants(rules) : undefined;
  return { grants: grants ? JSON.stringify(grants) : null };
}

async function listPolicies(context: ExtractContext) {
  const { items, index } = await listAll(context, scheduler.policies.list);
  return {
    policies: items.map((item, row) => ({ key: requiredString(item, 'Name', 'acl_policies', row), item })),
    index,
  };
}
