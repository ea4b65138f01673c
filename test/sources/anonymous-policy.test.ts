import { expect, test } from 'vitest';
import { findTarget, testProject } from '../helpers/test-project.ts';

const SOURCE = ['--source', 'acl_policies'];
const ROW = "select name from acl_policies where name = 'anonymous'";

/** A scheduler that lists no policy named `anonymous`, and answers so to whoever reads it. */
async function hidden(answer: { readonly status: number; readonly body: string } | undefined) {
  const state = { isHidden: false };
  const project = await testProject({
    workspaces: 2,
    flavor: 'hashicorp',
    faultHook: ({ path }, service) => {
      if (!state.isHidden) return undefined;
      if (path === '/v1/acl/policies') {
        return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(others) };
      }
      return answer && path === '/v1/acl/policy/anonymous' ? service.error(answer.status, answer.body) : undefined;
    },
  });
  await project.configure((config) => {
    findTarget(config, 'nomad').namespace = '*';
  });
  await project.pull(SOURCE);
  const others = (
    await project.rows("select name, modify_index::int as modified from acl_policies where name <> 'anonymous'")
  ).map(({ name, modified }) => ({ Name: name, ModifyIndex: modified }));
  expect(await project.rows(ROW)).toHaveLength(1);
  state.isHidden = true;
  return project;
}

test.each([
  [403, 'Permission denied'],
  [404, ''],
  [404, '<html><title>Not Found</title></html>'],
])('the policy `anonymous` stays while its read answers %i %j', async (status, body) => {
  const project = await hidden({ status, body });
  const { stdout } = await project.pull(SOURCE, 1);
  expect(stdout).toContain('name anonymous is unknown: ');
  expect(await project.rows(ROW)).toHaveLength(1);
});

test.each([
  { flavor: 'spec', reads: 1, kept: [] },
  { flavor: 'hashicorp', reads: 2, kept: ['anonymous'] }, // which every token may read
] as const)(
  'with the flavor $flavor, policies that a token with fewer rights does not list stay, and are unknown; one that was deleted is gone',
  async ({ flavor, reads, kept }) => {
    const project = await testProject({ workspaces: 2, flavor });
    const names = async () =>
      (await project.rows('select name from acl_policies order by 1')).map(({ name }) => String(name));
    await project.pull(SOURCE);
    const [own, deleted, ...others] = (await names()).filter((name) => name !== 'anonymous');
    const { policies } = project.sandbox.services.scheduler.state;
    policies.delete(deleted!);
    await project.pull(SOURCE);
    expect(await names()).toEqual(['anonymous', own, ...others].sort());

    const token = project.sandbox.createToken('scheduler', { policies: [own!] });
    await project.configure((config) => {
      findTarget(config, 'nomad').token = token;
    });
    project.sandbox.log.length = 0;
    await project.pull(SOURCE, 1);
    expect(await names()).toEqual(['anonymous', own, ...others].sort());
    const unknown = await project.rows('select value from unknown_parts order by 1');
    expect(unknown.map(({ value }) => value)).toEqual(['anonymous', ...others].sort());
    const refused = project.sandbox.log.filter(({ path, status }) => path.includes('/acl/policy/') && status === 403);
    expect(refused).toHaveLength(reads); // one for all others
    await project.pull(['--accept-shrink', 'acl_policies'], kept.length);
    expect(await names()).toEqual([...kept, own].sort());
  },
);

test('the policy `anonymous` is gone where the scheduler says that it does not exist', async () => {
  const project = await hidden({ status: 404, body: 'ACL policy not found' });
  await project.pull(SOURCE);
  expect(await project.rows(ROW)).toEqual([]);
});
