import { scheduler } from '../services/scheduler/operations.ts';
import { checkListAndRead } from './probe.ts';
import { listThenRead } from './shared/list-and-read.ts';
import { assertSubject, type ExtractContext, optionalString, requiredString, type SourceDefinition } from './source.ts';

/** ACL policies with their rules, which only reading one shows. */
export const aclPolicies: SourceDefinition = {
  name: 'acl_policies',
  kind: 'scheduler',
  checkAccess: (service) =>
    checkListAndRead(service, scheduler.policies.list, {}, (policy) => {
      const name = optionalString(policy, 'Name');
      return name === undefined ? undefined : service.call(scheduler.policies.read, { policy_name: name });
    }),
  async extract(run) {
    await listThenRead(
      run,
      await policyNames(run),
      () => policyNames(run),
      String,
      async (name) => {
        const answer = await run.client.call(scheduler.policies.read, { policy_name: name }, run.requestOptions);
        assertSubject(answer.json(), 'Name', name, 'acl_policies');
        await run.landing.writeJson({ name }, answer.text);
        run.landing.expectRows(1);
      },
    );
  },
};

async function policyNames(run: ExtractContext): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const page of run.client.pages(scheduler.policies.list, {}, run.requestOptions)) {
    for (const item of page.items) names.push(requiredString(item, 'Name', 'acl_policies', names.length));
  }
  return names;
}
