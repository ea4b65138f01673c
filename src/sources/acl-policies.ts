import { scheduler } from '../services/scheduler.ts';
import { eachListed } from './listed.ts';
import { probeFirst } from './probe.ts';
import { type Extraction, nameIn, requireAbout, type Source, text } from './source.ts';

/** ACL policies with their rules, which only reading one shows. */
export const aclPolicies: Source = {
  name: 'acl_policies',
  kind: 'scheduler',
  probe: (service) =>
    probeFirst(service, scheduler.policies.list, {}, (policy) => {
      const name = text(policy, 'Name');
      return name === undefined ? undefined : service.call(scheduler.policies.read, { policy_name: name });
    }),
  async extract(run) {
    await eachListed(
      run,
      await policyNames(run),
      () => policyNames(run),
      String,
      async (name) => {
        const answer = await run.service.call(scheduler.policies.read, { policy_name: name }, run.options);
        requireAbout(answer.json(), 'Name', name, 'acl_policies');
        await run.land.line({ name }, answer.text);
        run.land.expect(1);
      },
    );
  },
};

async function policyNames(run: Extraction): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const page of run.service.pages(scheduler.policies.list, {}, run.options)) {
    for (const item of page.items) names.push(nameIn(item, 'Name', 'acl_policies', names.length));
  }
  return names;
}
