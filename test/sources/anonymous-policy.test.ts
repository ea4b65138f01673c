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

test('the policy `anonymous` is gone where the scheduler says that it does not exist', async () => {
  const project = await hidden({ status: 404, body: 'ACL policy not found' });
  await project.pull(SOURCE);
  expect(await project.rows(ROW)).toEqual([]);
});
