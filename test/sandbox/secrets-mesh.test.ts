import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { ask, data } from './secrets-client.ts';

const READS = Buffer.from('key_prefix "" { policy = "read" }').toString('base64');
let sandbox: RunningSandbox;
const status = async (line: string, body?: unknown): Promise<number> =>
  (await ask(sandbox, 'secrets', line, { body })).status;
const role = (name: string): Promise<object> => data<object>(sandbox, `GET /mesh/roles/${name}`);

beforeEach(async () => {
  sandbox = await startTestSandbox();
});
afterEach(() => sandbox.close());

test('a role reads back policy, lease and token type, and nothing else', async () => {
  expect(await status('POST /mesh/roles/new', { policy: READS, ttl: '1h30m', local: true })).toBe(204);
  expect(await role('new')).toEqual({ policy: READS, lease: '1h30m0s', token_type: 'client' });
});

test('a role needs a policy or policies unless it is of the management type', async () => {
  expect(await status('POST /mesh/roles/new', {})).toBe(400);
  expect(await status('POST /mesh/roles/new', { token_type: 'root' })).toBe(400);
  expect(await status('POST /mesh/roles/new', { policy: 'not base64!' })).toBe(400);
  expect(await status('POST /mesh/roles/new', { policy: READS, ttl: 'soon' })).toBe(400);
  expect(await status('GET /mesh/roles/new')).toBe(404);
  expect(await status('POST /mesh/roles/new', { policies: 'a,b', lease: '1h' })).toBe(204);
  expect(await status('POST /mesh/roles/boss', { token_type: 'management' })).toBe(204);
});

test('in the specification, writing a role again updates what is sent and keeps the rest', async () => {
  const before = await role('legacy-admin');
  expect(before).toMatchObject({ token_type: 'management' });
  expect(await status('POST /mesh/roles/legacy-admin', { token_type: 'client' })).toBe(204);
  expect(await role('legacy-admin')).toEqual({ ...before, token_type: 'client' });
  expect(await status('POST /mesh/roles/terraform', { token_type: 'client' })).toBe(400);
});

test('deleting a role always succeeds', async () => {
  expect(await status('DELETE /mesh/roles/billing')).toBe(204);
  expect(await status('DELETE /mesh/roles/billing')).toBe(204);
  expect(await status('GET /mesh/roles/billing')).toBe(404);
});

test('creds mints a new token at each call, with a lease, and only for the write token', async () => {
  const { read } = sandbox.tokens.secrets;
  const headers = { 'X-Store-Token': read };
  expect((await ask(sandbox, 'secrets', 'GET /mesh/creds/web-read', { headers })).status).toBe(403);
  expect(sandbox.services.secrets.state.generated).toHaveLength(0);
  const first = JSON.parse((await ask(sandbox, 'secrets', 'GET /mesh/creds/web-read')).text) as Record<string, unknown>;
  const second = await data<{ token: string }>(sandbox, 'GET /mesh/creds/web-read');
  expect(first).toMatchObject({
    lease_id: expect.stringContaining('mesh/creds/web-read/') as string,
    lease_duration: 3600,
  });
  expect(first.data).not.toEqual(second);
  expect(sandbox.services.secrets.state.generated.map(({ token }) => token)).toContain(second.token);
  expect(await status('GET /mesh/creds/nobody')).toBe(400);
});

test('the access configuration needs address and token, and a client certificate with its key', async () => {
  const path = 'POST /mesh/config/access';
  const good = { address: 'mesh:8500', token: 'planted' };
  expect(await status(path, { token: 'planted' })).toBe(400);
  expect(await status(path, { address: 'mesh:8500', token: '' })).toBe(400);
  expect(await status(path, { ...good, client_cert: 'PEM' })).toBe(400);
  expect(await status(path, good)).toBe(204);
  expect(sandbox.services.secrets.state.access).toMatchObject({ address: 'mesh:8500', scheme: 'http' });
});
