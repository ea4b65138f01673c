import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { type Answer, ask, read, type Sending } from './secrets-client.ts';

const RULES = 'namespace "default" {\n  policy = "read"\n}\n';
let sandbox: RunningSandbox;
const send = (line: string, sending?: Sending): Promise<Answer> => ask(sandbox, 'scheduler', line, sending);

async function write(name: string, body: Readonly<Record<string, unknown>>): Promise<[status: number, text: string]> {
  const { status, text } = await send(`POST /acl/policy/${name}`, { body });
  return [status, text];
}

beforeEach(async () => {
  sandbox = await startTestSandbox();
});
afterEach(() => sandbox.close());

test('tokens go by Authorization or X-Nomad-Token; without a good one the text is Permission denied', async () => {
  const { read: token } = sandbox.tokens.scheduler;
  for (const headers of [{ authorization: `bearer ${token}` }, { 'X-Nomad-Token': token }]) {
    expect((await send('GET /acl/policies', { headers })).status).toBe(200);
  }
  for (const headers of [{}, { 'X-Nomad-Token': 'wrong' }]) {
    const { status, text } = await send('GET /acl/policies', { headers });
    expect([status, text]).toEqual([403, 'Permission denied']);
  }
  const refused = await send('DELETE /acl/policy/on-call', { headers: { 'X-Nomad-Token': token } });
  expect(refused.status).toBe(403);
  expect(sandbox.services.scheduler.state.policies.has('on-call')).toBe(true);
});

test('the list shows name, description and indexes, filtered by prefix', async () => {
  const all = await read<{ Name: string }[]>(sandbox, 'scheduler', 'GET /acl/policies');
  expect(all).toHaveLength(sandbox.services.scheduler.state.policies.size);
  const some = await read<object[]>(sandbox, 'scheduler', 'GET /acl/policies?prefix=secrets-');
  expect(some.map((policy) => Object.keys(policy))).toEqual(
    Array.from({ length: 2 }, () => ['Name', 'Description', 'CreateIndex', 'ModifyIndex']),
  );
});

test('a policy is created, updated under its old create index, and deleted twice without complaint', async () => {
  expect(await write('fresh', { Name: 'fresh', Rules: RULES, Description: 'one' })).toEqual([200, '']);
  const first = await read<{ CreateIndex: number }>(sandbox, 'scheduler', 'GET /acl/policy/fresh');
  expect(first).toMatchObject({ Name: 'fresh', Rules: RULES, Description: 'one' });
  await write('fresh', { Name: 'fresh', Rules: RULES });
  const second = await read<object>(sandbox, 'scheduler', 'GET /acl/policy/fresh');
  expect(second).toMatchObject({ Description: '', CreateIndex: first.CreateIndex, ModifyIndex: first.CreateIndex + 1 });
  expect((await send('DELETE /acl/policy/fresh')).status).toBe(200);
  expect((await send('DELETE /acl/policy/fresh')).status).toBe(200);
  const gone = await send('GET /acl/policy/fresh');
  expect([gone.status, gone.text]).toEqual([404, 'ACL policy not found']);
});

test.each([
  [{ Name: 'other', Rules: RULES }, 'ACL policy name does not match request path'],
  [{ Name: 'bad' }, 'policy 0 invalid: rules must not be empty'],
  [{ Name: 'bad', Rules: 'namespace "x" {' }, 'policy 0 invalid: failed to parse rules: unbalanced block'],
  [{ Name: 'bad', Rules: '{"namespace"' }, 'policy 0 invalid: failed to parse rules: invalid JSON'],
  [{ Name: 'bad', Rules: RULES, Description: 'x'.repeat(257) }, 'policy 0 invalid: description longer than 256'],
  [{ Name: 'bad', Rules: RULES, JobACL: { JobID: 'j' } }, 'policy 0 invalid: namespace must be set to set job ID'],
  [{ Name: 'bad', Rules: RULES, JobACL: { Namespace: 'n' } }, 'policy 0 invalid: job ID must be set to use job ACL'],
  [
    { Name: 'bad', Rules: RULES, JobACL: { Namespace: 'n', JobID: 'j', Task: 't' } },
    'policy 0 invalid: group must be set to set task',
  ],
])('a wrong policy %j is refused', async (body, reason) => {
  expect(await write('bad', body)).toEqual([400, reason]);
  expect(sandbox.services.scheduler.state.policies.has('bad')).toBe(false);
});

test('JobACL comes back as it was written', async () => {
  const JobACL = { Namespace: 'prod', JobID: 'web', Group: 'main', Task: 'server' };
  expect(await write('job', { Name: 'job', Rules: RULES, JobACL })).toEqual([200, '']);
  expect(await read(sandbox, 'scheduler', 'GET /acl/policy/job')).toMatchObject({ JobACL });
});

test('a name that is not of letters, digits and dashes is refused', async () => {
  expect(await write('a%20b', { Name: 'a b', Rules: RULES })).toEqual([400, "policy 0 invalid: invalid name 'a b'"]);
});
