import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { type Answer, ask, read, type Sending } from './secrets-client.ts';

interface Roots {
  readonly ActiveRootID: string;
  readonly Roots: readonly { readonly ID: string; readonly Active: boolean; readonly NotAfter: string }[];
}

const ROOTS = '/agent/connect/ca/roots';
const LEAF = '/agent/connect/ca/leaf';
let sandbox: RunningSandbox;
const send = (line: string, sending?: Sending): Promise<Answer> => ask(sandbox, 'mesh', line, sending);

async function authorize(fields: Readonly<Record<string, unknown>>): Promise<[status: number, answer: unknown]> {
  const body = { ClientCertSerial: '04:00:00', ClientCertURI: uriOf('web'), Target: 'api', ...fields };
  const { status, text } = await send('POST /agent/connect/authorize', { body });
  return [status, status === 200 ? JSON.parse(text) : text];
}

const uriOf = (service: string): string => `spiffe://x.consul/ns/default/dc/dc1/svc/${service}`;

beforeEach(async () => {
  sandbox = await startTestSandbox();
});
afterEach(() => sandbox.close());

test('a connection is allowed, denied, or left to the default, always with 200 and a reason', async () => {
  const { intentions } = sandbox.services.mesh.state;
  const [allow, deny] = intentions;
  expect(await authorize({})).toEqual([
    200,
    {
      Authorized: true,
      Reason: `Matched L4 intention: ALLOW default/web => default/api (ID: ${allow!.id}, Precedence: 9)`,
    },
  ]);
  expect(await authorize({ Target: 'billing' })).toEqual([
    200,
    {
      Authorized: false,
      Reason: `Matched L4 intention: DENY default/web => default/billing (ID: ${deny!.id}, Precedence: 9)`,
    },
  ]);
  const byDefault = { Authorized: false, Reason: 'Default behavior configured by ACLs' };
  expect(await authorize({ Target: 'nobody' })).toEqual([200, byDefault]);
  expect(await authorize({ Namespace: 'other' })).toEqual([200, byDefault]);
});

test('an intention with permissions counts as a denial', async () => {
  const [status, answer] = await authorize({ ClientCertURI: uriOf('api'), Target: 'billing' });
  expect([status, answer]).toEqual([
    200,
    { Authorized: false, Reason: expect.stringContaining('Matched L7 intention: ALLOW') as string },
  ]);
});

test.each([
  [{ Target: '' }, 'Target service must be specified'],
  [{ ClientCertURI: 'https://x' }, 'ClientCertURI not a valid Connect identifier'],
  [{ ClientCertURI: 'spiffe://x.consul/agent/1' }, 'ClientCertURI not a valid Service identifier'],
  [{ ClientCertSerial: 'none' }, 'ClientCertSerial must be a colon-hex serial'],
])('authorize refuses %j', async (fields, reason) => {
  expect(await authorize(fields)).toEqual([400, reason]);
});

test('authorize refuses a body that is not JSON', async () => {
  const { status, text } = await send('POST /agent/connect/authorize', { body: '{' });
  expect([status, text.startsWith('Request decode failed: ')]).toEqual([400, true]);
});

test('the roots need no token, leaves do, and a wrong token is refused everywhere', async () => {
  const wrong = { headers: { authorization: 'Bearer wrong' } };
  expect((await send(`GET ${ROOTS}`, { headers: {} })).status).toBe(200);
  expect((await send(`GET ${ROOTS}`, wrong)).text).toBe('ACL not found');
  expect((await send(`GET ${LEAF}/web`, { headers: {} })).status).toBe(403);
  expect((await send(`GET ${LEAF}/web`, wrong)).status).toBe(403);
  const token = { headers: { 'X-Consul-Token': sandbox.tokens.mesh.read } };
  expect((await send(`GET ${LEAF}/web`, token)).status).toBe(200);
});

test('one root is active, one inactive, one within 30 days of its end; serials are beyond 2^53', async () => {
  const { text } = await send(`GET ${ROOTS}`);
  const roots = JSON.parse(text) as Roots;
  const daysLeft = roots.Roots.map(({ NotAfter }) => (Date.parse(NotAfter) - sandbox.now.getTime()) / 86_400_000);
  expect(roots.Roots.map(({ Active }) => Active)).toEqual([true, false, false]);
  expect(roots.ActiveRootID).toBe(roots.Roots[0]!.ID);
  expect(daysLeft.map((days) => days > 30)).toEqual([true, true, false]);
  expect(text.match(/"SerialNumber":1\d{19},/g)).toHaveLength(3);
});

test('the active root comes near its end and gives way to a new one', async () => {
  const active = (await read<Roots>(sandbox, 'mesh', `GET ${ROOTS}`)).ActiveRootID;
  for (let day = 0; day < 12; day++) sandbox.tick();
  const { ActiveRootID, Roots } = await read<Roots>(sandbox, 'mesh', `GET ${ROOTS}`);
  expect(ActiveRootID).not.toBe(active);
  expect(Roots.filter(({ Active }) => Active).map(({ ID }) => ID)).toEqual([ActiveRootID]);
  expect(Roots.map(({ ID }) => ID)).toContain(active);
});

test('a leaf stays the same until it nears its end; its serial only grows', async () => {
  const leaf = () => read<Record<string, string>>(sandbox, 'mesh', `GET ${LEAF}/web`);
  const first = await leaf();
  expect(first).toMatchObject({ Service: 'web', Namespace: 'default', ValidBefore: '2026-10-04T01:15:00Z' });
  expect(first.PrivateKeyPEM).toContain('BEGIN EC PRIVATE KEY');
  sandbox.tick();
  expect(await leaf()).toEqual(first);
  for (let day = 0; day < 3; day++) sandbox.tick();
  const renewed = await leaf();
  expect(Date.parse(renewed.ValidBefore!)).toBeGreaterThan(sandbox.now.getTime());
  expect(renewed.SerialNumber! > first.SerialNumber!).toBe(true);
  expect(renewed.PrivateKeyPEM).not.toBe(first.PrivateKeyPEM);
});

test('a leaf is given for any service name and namespace', async () => {
  const name = 'unknown "β", <b>';
  const leaf = await read<object>(sandbox, 'mesh', `GET ${LEAF}/${encodeURIComponent(name)}?ns=team`);
  expect(leaf).toMatchObject({ Service: name, Namespace: 'team' });
});

test('with the real flavor namespaces are refused, and the roots show their trust domain', async () => {
  await sandbox.close();
  sandbox = await startTestSandbox({ flavor: 'hashicorp' });
  const refused = await send(`GET ${LEAF}/web?ns=team`);
  expect([refused.status, refused.text]).toEqual([
    400,
    'Invalid query parameter: "ns" - Namespaces are a Consul Enterprise feature',
  ]);
  const { text, headers } = await send(`GET ${ROOTS}`);
  expect(JSON.parse(text)).toHaveProperty('TrustDomain');
  expect(Number(headers.get('x-consul-index'))).toBeGreaterThan(0);
  expect(await read<object>(sandbox, 'mesh', `GET ${LEAF}/web`)).not.toHaveProperty('Namespace');
  expect(await authorize({ ClientCertSerial: '' })).toMatchObject([200, { Authorized: true }]);
});
