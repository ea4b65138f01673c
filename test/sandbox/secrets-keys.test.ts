import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { type Answer, ask, data, type Sending } from './secrets-client.ts';

interface KeyData {
  readonly type: string;
  readonly deletion_allowed: boolean;
  readonly latest_version: number;
  readonly min_enabled_version: number;
  readonly keys: Readonly<Record<string, { readonly creation_time: string; readonly public_key?: string }>>;
}

let sandbox: RunningSandbox;
const send = (line: string, sending?: Sending): Promise<Answer> => ask(sandbox, 'secrets', line, sending);
const status = async (line: string, body?: unknown): Promise<number> => (await send(line, { body })).status;
const key = (name: string): Promise<KeyData> => data<KeyData>(sandbox, `GET /keymgmt/key/${name}`);

beforeEach(async () => {
  sandbox = await startTestSandbox();
});
afterEach(() => sandbox.close());

test('keys are listed by LIST, by GET with list=true, and with a slash at the end', async () => {
  const names = [...sandbox.services.secrets.state.keys.keys()].sort();
  for (const line of ['LIST /keymgmt/key', 'LIST /keymgmt/key/', 'GET /keymgmt/key?list=true']) {
    expect(await data(sandbox, line)).toEqual({ keys: names });
  }
});

test('an empty list is 404 without words, a wrong mount 404 with words', async () => {
  const emptyList = await send('LIST /keymgmt/kms/lab-empty/key');
  expect([emptyList.status, JSON.parse(emptyList.text)]).toEqual([404, { errors: [] }]);
  const wrongMount = await send('LIST /elsewhere/key');
  expect(wrongMount.status).toBe(404);
  expect(wrongMount.text).toContain('no handler for route \\"elsewhere/key\\"');
});

test('only the store token in its header opens anything, and the read token changes nothing', async () => {
  const { read, write } = sandbox.tokens.secrets;
  const withToken = (token: string, method = 'LIST') =>
    send(`${method} /keymgmt/key`, { headers: { 'X-Store-Token': token } });
  expect((await withToken(read)).status).toBe(200);
  expect((await withToken('wrong')).status).toBe(403);
  const denied = await send('POST /keymgmt/key/denied', { headers: { 'X-Store-Token': read } });
  expect([denied.status, denied.text]).toEqual([
    403,
    '{"errors":["1 error occurred:\\n\\t* permission denied\\n\\n"]}\n',
  ]);
  expect((await send('POST /keymgmt/key/granted', { headers: { 'X-Store-Token': write } })).status).toBe(204);
  expect(sandbox.services.secrets.state.keys.has('denied')).toBe(false);
});

test('responses have the envelope and are the same for the same request', async () => {
  const first = await send('GET /keymgmt/key/ledger-archive');
  expect(Object.keys(JSON.parse(first.text) as object)).toEqual([
    'request_id',
    'lease_id',
    'renewable',
    'lease_duration',
    'data',
    'wrap_info',
    'warnings',
    'auth',
  ]);
  expect((await send('GET /keymgmt/key/ledger-archive')).text).toBe(first.text);
});

test('a key is made with the default type or the one asked for; a type never changes', async () => {
  await send('POST /keymgmt/key/plain');
  expect(await key('plain')).toMatchObject({
    type: 'rsa-2048',
    deletion_allowed: false,
    latest_version: 1,
    min_enabled_version: 0,
  });
  await send('POST /keymgmt/key/sym', { body: { type: 'aes256-gcm96' } });
  expect((await key('sym')).keys['1']).not.toHaveProperty('public_key');
  expect((await key('plain')).keys['1']?.public_key).toContain('BEGIN PUBLIC KEY');
  expect(await status('POST /keymgmt/key/plain', { type: 'rsa-4096' })).toBe(400);
  expect(await status('POST /keymgmt/key/other', { type: 'des' })).toBe(400);
  expect(await status('POST /keymgmt/key/other', '{not json')).toBe(400);
  expect(await status('GET /keymgmt/key/other')).toBe(404);
});

test('in the specification a name may contain a slash; in Vault it would be another path', async () => {
  const path = encodeURIComponent('batch/2019 100%');
  expect(await status(`GET /keymgmt/key/${path}`)).toBe(200);
  expect(await status(`GET /keymgmt/kms/azure-eu/key/${path}`)).toBe(200);
});

test('rotating adds a version, here and in the provider', async () => {
  const before = await key('ledger-archive');
  expect(await status('POST /keymgmt/key/ledger-archive/rotate')).toBe(204);
  const after = await key('ledger-archive');
  expect(after.latest_version).toBe(before.latest_version + 1);
  expect(after.keys[String(after.latest_version)]?.creation_time.slice(0, 19)).toBe(
    sandbox.now.toISOString().slice(0, 19),
  );
  const held = await data<{ versions: object }>(sandbox, 'GET /keymgmt/kms/aws-frankfurt/key/ledger-archive');
  expect(Object.keys(held.versions)).toHaveLength(after.latest_version);
  expect(await status('POST /keymgmt/key/nobody/rotate')).toBe(400);
});

test('in the specification, an update without one setting resets it to its default', async () => {
  await send('POST /keymgmt/key/payments-signing', { body: { min_enabled_version: 5, deletion_allowed: true } });
  expect(await key('payments-signing')).toMatchObject({ min_enabled_version: 5, deletion_allowed: true });
  await send('POST /keymgmt/key/payments-signing', { body: { min_enabled_version: 6 } });
  expect(await key('payments-signing')).toMatchObject({ min_enabled_version: 6, deletion_allowed: false });
  for (const min_enabled_version of [8, -1, 1.5]) {
    expect(await status('POST /keymgmt/key/payments-signing', { min_enabled_version })).toBe(400);
  }
});

test('a key is deleted only when allowed and when no provider holds it', async () => {
  expect(await status('DELETE /keymgmt/key/retired-2024-batch')).toBe(400);
  expect(await data(sandbox, 'LIST /keymgmt/key/retired-2024-batch/kms')).toEqual({ keys: ['azure-eu'] });
  expect(await status('DELETE /keymgmt/kms/azure-eu/key/retired-2024-batch')).toBe(204);
  expect(await status('LIST /keymgmt/key/retired-2024-batch/kms')).toBe(404);
  expect(await status('DELETE /keymgmt/key/retired-2024-batch')).toBe(204);
  expect(await status('GET /keymgmt/key/retired-2024-batch')).toBe(404);
  await send('POST /keymgmt/key/kept');
  expect(await status('DELETE /keymgmt/key/kept')).toBe(400);
});

test('a provider needs both its fields, keeps them, never shows credentials, and goes only when empty', async () => {
  const path = 'POST /keymgmt/kms/new-kms';
  const wanted = { provider: 'awskms', key_collection: 'eu-west-1' };
  expect(await status(path, { provider: 'awskms' })).toBe(400);
  expect(await status(path, { key_collection: 'eu-west-1' })).toBe(400);
  expect(await status(path, { ...wanted, credentials: ['access_key=planted=1'] })).toBe(204);
  expect(sandbox.services.secrets.state.providers.get('new-kms')?.credentials).toEqual({ access_key: 'planted=1' });
  expect(await data(sandbox, 'GET /keymgmt/kms/new-kms')).toEqual({ provider: 'awskms', key_collection: 'eu-west-1' });
  expect(await status(path, { ...wanted, key_collection: 'eu-west-2' })).toBe(400);
  expect(await status('DELETE /keymgmt/kms/azure-eu')).toBe(400);
  expect(await status('DELETE /keymgmt/kms/new-kms')).toBe(204);
  expect(await status('GET /keymgmt/kms/new-kms')).toBe(404);
});

test('a key is distributed to one provider, with a purpose, on terms that stay', async () => {
  await send('POST /keymgmt/key/fresh');
  const path = 'POST /keymgmt/kms/lab-empty/key/fresh';
  expect(await status(path, {})).toBe(400);
  expect(await status(path, { purpose: [] })).toBe(400);
  expect(await status(path, { purpose: 'encrypt,decrypt' })).toBe(204);
  expect(await data(sandbox, 'GET /keymgmt/kms/lab-empty/key/fresh')).toMatchObject({
    name: `fresh-${sandbox.now.getTime() / 1000}`,
    protection: 'hsm',
    purpose: ['encrypt', 'decrypt'],
    versions: { '1': expect.any(String) as string },
  });
  expect(await status(path, { purpose: ['sign'] })).toBe(400);
  expect(await status('POST /keymgmt/kms/azure-eu/key/fresh', { purpose: ['encrypt'] })).toBe(400);
  expect(await status('POST /keymgmt/kms/nowhere/key/fresh', { purpose: ['encrypt'] })).toBe(400);
  expect(await status('POST /keymgmt/kms/azure-eu/key/nothing', { purpose: ['encrypt'] })).toBe(400);
});
