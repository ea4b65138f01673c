import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { ask, data } from './secrets-client.ts';

let sandbox: RunningSandbox;
const status = async (line: string, body?: unknown): Promise<number> =>
  (await ask(sandbox, 'secrets', line, { body })).status;

beforeEach(async () => {
  sandbox = await startTestSandbox({ flavor: 'hashicorp' });
});
afterEach(() => sandbox.close());

test('the token goes in X-Vault-Token, and the mesh engine is mounted at consul', async () => {
  const headers = { 'X-Vault-Token': sandbox.tokens.secrets.read };
  expect((await ask(sandbox, 'secrets', 'LIST /consul/roles', { headers })).status).toBe(200);
  expect((await ask(sandbox, 'secrets', 'LIST /mesh/roles', { headers })).status).toBe(404);
  const other = { 'X-Store-Token': sandbox.tokens.secrets.read };
  expect((await ask(sandbox, 'secrets', 'LIST /consul/roles', { headers: other })).status).toBe(403);
});

test('a key has versions for keys, and a new one reads back 1 as minimum', async () => {
  await status('PUT /keymgmt/key/new', { type: 'ecdsa-p256' });
  const key = await data<object>(sandbox, 'GET /keymgmt/key/new');
  expect(key).toMatchObject({ min_enabled_version: 1, versions: { '1': {} } });
  expect(key).not.toHaveProperty('keys');
});

test('an update keeps the setting that is left out', async () => {
  await status('POST /keymgmt/key/payments-signing', { deletion_allowed: true });
  await status('POST /keymgmt/key/payments-signing', { min_enabled_version: 6 });
  const key = await data<object>(sandbox, 'GET /keymgmt/key/payments-signing');
  expect(key).toMatchObject({ min_enabled_version: 6, deletion_allowed: true });
});

test('purposes are known ones and read back as one string with commas', async () => {
  await status('POST /keymgmt/key/new');
  const path = 'POST /keymgmt/kms/lab-empty/key/new';
  expect(await status(path, { purpose: ['juggle'] })).toBe(400);
  expect(await status(path, { purpose: ['sign'], protection: 'paper' })).toBe(400);
  expect(await status(path, { purpose: ['sign', 'verify'], protection: 'software' })).toBe(204);
  expect(await data(sandbox, 'GET /keymgmt/kms/lab-empty/key/new')).toMatchObject({ purpose: 'sign,verify' });
  expect(await status('POST /keymgmt/kms/new', { provider: 'floppy', key_collection: 'a' })).toBe(400);
});

test('a role is replaced as a whole, and its times are whole seconds', async () => {
  expect(await status('POST /consul/roles/legacy-admin', { token_type: 'client' })).toBe(400);
  expect(await status('POST /consul/roles/legacy-admin', { consul_policies: ['read'], ttl: '2h' })).toBe(204);
  expect(await data(sandbox, 'GET /consul/roles/legacy-admin')).toEqual({
    lease: 7200,
    ttl: 7200,
    max_ttl: 0,
    token_type: 'client',
    local: false,
    consul_namespace: '',
    partition: '',
    consul_policies: ['read'],
  });
});

test('the access configuration reads back address and scheme only', async () => {
  expect(await data(sandbox, 'GET /consul/config/access')).toEqual({ address: 'mesh.internal:8501', scheme: 'https' });
});

test('creds returns an accessor with the token', async () => {
  const creds = await data<object>(sandbox, 'GET /consul/creds/web-read');
  expect(Object.keys(creds).sort()).toEqual(['accessor', 'consul_namespace', 'local', 'partition', 'token']);
});

test('a role keeps every field that is written, and refuses one that it would not keep', async () => {
  const lists = { consul_roles: ['deploy'], service_identities: ['web'], node_identities: ['n1:dc1'] };
  const fields = { ...lists, consul_namespace: 'team', partition: 'p1', local: true };
  expect(await status('POST /consul/roles/modern', fields)).toBe(204);
  expect(await data(sandbox, 'GET /consul/roles/modern')).toMatchObject({ ...fields, token_type: 'client' });
  expect(await status('POST /consul/roles/modern', { ...fields, invented: 1 })).toBe(400);
});
