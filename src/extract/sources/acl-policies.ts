import { catchFailure, ServiceError } from '../../http/errors.ts';
import type { RequestOptions } from '../../services/client.ts';
import type { ServiceResponse } from '../../services/response.ts';
import { listGrants } from '../../services/scheduler/acl-rules.ts';
import { scheduler } from '../../services/scheduler/operations.ts';
import { checkFirst, describeFailure, listAll, listThenLand } from './shared/list-and-read.ts';
import { type ExtractContext, type ListedObject, requiredString, type SourceDefinition } from './source.ts';

/** ACL policies. Their rules are returned only by reading each policy. */
export const aclPolicies: SourceDefinition = {
  name: 'acl_policies',
  kind: 'scheduler',
  operations: [scheduler.policies.list, scheduler.policies.read],
  unchanged: { list: 'ModifyIndex' },
  async extract(context) {
    const { policies, index } = await listPolicies(context);
    await listThenLand(context, {
      name: 'policies',
      items: policies,
      index,
      relist: async () => (await listPolicies(context)).policies,
      request: ({ key: name }) => ({
        fields: { name },
        derive: deriveGrants,
        read: (options) => readPolicy(context, name, options),
      }),
      isRow: true,
    });
    await landUnlisted(context, policies);
  },
  checkAccess: checkFirst(scheduler.policies.list, scheduler.policies.read, 'policy_name'),
};

/** In the product every token may read this policy, also one that lists only its own: docs/services/scheduler.md#acl-policies. */
const ANONYMOUS = 'anonymous';

function readPolicy({ client }: ExtractContext, name: string, options?: RequestOptions) {
  return client.call(scheduler.policies.read, { policy_name: name }, options);
}

/**
 * A token may list its own policies alone. So those that are loaded and not listed are asked for: one that is refused stays and is unknown, and
 * so do the others that are asked after it.
 */
async function landUnlisted(context: ExtractContext, policies: readonly ListedObject[]): Promise<void> {
  const { client, landing } = context;
  const isProduct = client.target.flavor === 'hashicorp';
  const readable = isProduct ? [ANONYMOUS] : [];
  const known = await context.knownParts();
  const listed = new Set(policies.map(({ key }) => key));
  let hidden: ServiceError | undefined;
  for (const name of new Set([...readable, ...known])) {
    if (name === null || listed.has(name)) continue;
    const answer = hidden ?? (await readPolicy(context, name).catch(takeRefusal));
    if (!(answer instanceof ServiceError)) {
      await landing.writeJson({ name, ...deriveGrants(answer) }, answer.text);
      landing.expectRows(1);
    } else if (!isAbsence(answer, isProduct) && known.has(name)) {
      const isGone = !readable.includes(name);
      if (isGone) hidden = answer;
      landing.addUnknown({ column: 'name', value: name, reason: describeFailure(answer), isGone });
    }
  }
}

/** The policy does not exist, or it is not shown, as by an older version. */
const takeRefusal = catchFailure(({ status = 500 }) => status < 500);

/** The API document has no text for it. */
function isAbsence({ failure, status, serviceMessage }: ServiceError, isProduct: boolean): boolean {
  return isProduct ? status === 404 && /policy not found/iu.test(serviceMessage) : failure === 'not-found';
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
