import { expect, test } from 'vitest';
import type { RunResult } from '../../src/run/run.ts';
import { isEmptyList } from '../../src/services/classify-error.ts';
import { secrets } from '../../src/services/index.ts';
import { type TestProject, testProject } from '../helpers/test-project.ts';

const VAULT = ['--target', 'vault'];

test.each([
  '',
  '{}',
  'null',
  '[]',
  '{"errors":null}',
  '{"errors":["none"]}',
  '<html></html>',
  'Not Found',
  '{"errors":[]',
])('a LIST that answers 404 with the body %j is not an empty list', (body) =>
  expect(isEmptyList(secrets.keys.list, 404, body)).toBe(false),
);

test('a LIST that answers 404 with no errors is an empty list, and nothing else is', () => {
  expect(isEmptyList(secrets.keys.list, 404, '{"errors":[]}')).toBe(true);
  expect(isEmptyList(secrets.keys.list, 400, '{"errors":[]}')).toBe(false);
  expect(isEmptyList(secrets.keys.read, 404, '{"errors":[]}')).toBe(false);
});

const ROLES = 'select count(*)::int as n from mesh_roles';

/** A project that has pulled two mesh roles; what `answers` has for a path then replaces the service's answer. */
async function twoRoles(
  answers: Map<RegExp, { readonly status: number; readonly body: string }>,
): Promise<TestProject> {
  const project = await testProject({
    workspaces: 2,
    faultHook: ({ path }) => {
      const answer = [...answers].find(([pattern]) => pattern.test(path))?.[1];
      return answer && { ...answer, headers: { 'content-type': 'application/json' } };
    },
  });
  const { roles } = project.sandbox.services.secrets.state;
  for (const name of [...roles.keys()].slice(2)) roles.delete(name);
  await project.pull(VAULT);
  expect(await project.rows(ROLES)).toEqual([{ n: 2 }]);
  return project;
}

const LIST_OF_ROLES = /\/mesh\/roles\/?$/u;
const LIST_OF_KEYS = /\/keymgmt\/key\/?$/u;

test('a table that loses all rows waits while another source of its target fails, whatever its size', async () => {
  const answers = new Map<RegExp, { status: number; body: string }>();
  const project = await twoRoles(answers);
  answers.set(LIST_OF_ROLES, { status: 404, body: '{"errors":[]}' }).set(LIST_OF_KEYS, { status: 403, body: '{}' });
  const { pulls } = (await project.pull(VAULT, 1)).json<RunResult>();
  expect(pulls.find(({ source }) => source === 'mesh_roles')).toMatchObject({
    status: 'quarantined',
    error: expect.stringMatching(
      /^mesh_roles: every row \(2\) disappeared at once, and keys of the same target failed/u,
    ),
  });
  expect(await project.rows(ROLES)).toEqual([{ n: 2 }]);
  answers.delete(LIST_OF_KEYS);
  await project.pull(VAULT);
  expect(await project.rows(ROLES)).toEqual([{ n: 0 }]);
});

test('--accept-shrink pulls the source alone, and empties the table', async () => {
  const answers = new Map<RegExp, { status: number; body: string }>();
  const project = await twoRoles(answers);
  answers.set(LIST_OF_ROLES, { status: 404, body: '{"errors":[]}' }).set(LIST_OF_KEYS, { status: 403, body: '{}' });
  await project.pull([...VAULT, '--accept-shrink', 'mesh_roles']);
  expect(await project.rows(ROLES)).toEqual([{ n: 0 }]);
});

test.each(['', '{}', 'Not Found'])('a 404 with the body %j leaves the rows as they are', async (body) => {
  const answers = new Map<RegExp, { status: number; body: string }>();
  const project = await twoRoles(answers);
  answers.set(LIST_OF_ROLES, { status: 404, body });
  const { pulls } = (await project.pull(VAULT, 1)).json<RunResult>();
  expect(pulls.find(({ source }) => source === 'mesh_roles')).toMatchObject({ status: 'failed' });
  expect(await project.rows(ROLES)).toEqual([{ n: 2 }]);
});
