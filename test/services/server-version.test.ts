import { expect, onTestFinished, test } from 'vitest';
import type { TargetKind } from '../../src/config/config.ts';
import { createLog } from '../../src/core/log.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { ServiceClients } from '../../src/services/client.ts';
import { askVersion, identifyService } from '../../src/services/describe-server.ts';
import { createTarget, createTestClient, startServer, TOKEN } from '../helpers/http-service.ts';
import { readRecorded } from '../recorded/recorded.ts';

/** Of the token, as a landing masks it. */
const mask = (text: string) => text.replaceAll(TOKEN, '***');

interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object | string;
}

/** What is recorded of a server that answers so. */
async function ask(kind: TargetKind, { status = 200, headers = {}, body = '' }: Answer) {
  const server = await startServer((_, response) => {
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  onTestFinished(server.close);
  const { client } = createTestClient(createTarget(kind, server.origin, { flavor: 'hashicorp', organization: 'acme' }));
  const { product, version, note } = await askVersion(client, mask);
  return [product, version, ...(note === null ? [] : [note])];
}

const HEALTH = { initialized: true, sealed: false, standby: false, performance_standby: false };
const AGENT = { Revision: '', Version: '2.0.5', VersionPrerelease: '', VersionMetadata: '' };

test.each<[string, TargetKind, Answer, readonly unknown[]]>([
  ['HCP Terraform', 'platform', { status: 204, headers: { 'TFP-AppName': 'HCP Terraform' } }, ['hcp-terraform', null]],
  [
    'Terraform Enterprise',
    'platform',
    { status: 204, headers: { 'TFP-AppName': 'Terraform Enterprise', 'X-TFE-Version': '1.1.0' } },
    ['terraform-enterprise', '1.1.0'],
  ],
  [
    'an older Terraform Enterprise',
    'platform',
    { status: 204, headers: { 'X-TFE-Version': 'v202501-1' } },
    ['terraform-enterprise', 'v202501-1'],
  ],
  ['another platform, which says nothing', 'platform', { status: 200, body: '{}' }, [null, null]],
  [
    'a platform without the endpoint',
    'platform',
    { status: 404, body: '{"errors": []}' },
    [null, null, 'its version is not known: /ping answered 404'],
  ],
  [
    'Nomad behind a proxy that hides the endpoint',
    'scheduler',
    { status: 404, body: '<html><title>Not Found</title></html>' },
    ['nomad', null, 'its version is not known: /agent/self answered 404'],
  ],
  [
    'Vault of the enterprise edition',
    'secrets',
    { body: { ...HEALTH, version: '1.19.5', enterprise: true } },
    ['vault', '1.19.5+ent'],
  ],
  [
    'Vault that tells its edition itself',
    'secrets',
    { body: { ...HEALTH, version: '1.20.1+ent.hsm', enterprise: true } },
    ['vault', '1.20.1+ent.hsm'],
  ],
  ['Vault 2', 'secrets', { body: { ...HEALTH, version: '2.0.4', enterprise: false } }, ['vault', '2.0.4']],
  ['OpenBao', 'secrets', { body: { ...HEALTH, version: '2.6.2' } }, ['openbao', '2.6.2']],
  ['a server without a version', 'secrets', { body: HEALTH }, [null, null]],
  ['Nomad', 'scheduler', { body: { config: { Version: AGENT } } }, ['nomad', '2.0.5']],
  [
    'Nomad of the enterprise edition, before its release',
    'scheduler',
    { body: { config: { Version: { ...AGENT, VersionPrerelease: 'dev', VersionMetadata: 'ent' } } } },
    ['nomad', '2.0.5-dev+ent'],
  ],
  [
    'Nomad that tells only its member',
    'scheduler',
    { body: { member: { Tags: { build: '1.9.7' } } } },
    ['nomad', '1.9.7'],
  ],
  [
    'Nomad with a token that may not ask',
    'scheduler',
    { status: 403, body: 'Permission denied' },
    ['nomad', null, 'its version is not known: /agent/self answered 403'],
  ],
  [
    'Consul of the enterprise edition',
    'mesh',
    { body: { Config: { Version: '1.21.4' }, DebugConfig: { VersionMetadata: 'ent' } } },
    ['consul', '1.21.4+ent'],
  ],
  ['Consul', 'mesh', { body: { Config: { Version: '1.21.4' } } }, ['consul', '1.21.4']],
  [
    'Consul 1.13.8, which ends its version with a line break',
    'mesh',
    { body: { Config: { Version: '1.13.8\n' }, DebugConfig: { VersionMetadata: 'ent\n' } } },
    ['consul', '1.13.8+ent'],
  ],
  [
    'an autoscaler that is not alive',
    'autoscaler',
    { status: 503, body: 'Service unavailable' },
    ['nomad-autoscaler', null],
  ],
])('%s', async (_, kind, answer, expected) => {
  expect(await ask(kind, answer)).toEqual(expected);
});

test.each<[string, TargetKind, readonly unknown[]]>([
  ['vault/health', 'secrets', ['vault', '1.3.0-dev']],
  ['consul/agent-self-anonymous', 'mesh', ['consul', null, 'its version is not known: /agent/self answered 403']],
  ['autoscaler/health', 'autoscaler', ['nomad-autoscaler', null]],
])('the recorded answer %s', async (name, kind, expected) => {
  const { status, body } = readRecorded(name);
  expect(await ask(kind, { status, body })).toEqual(expected);
});

test('a server that fails is not taken for one that does not tell', async () => {
  await expect(ask('mesh', { status: 500, body: 'No cluster leader' })).rejects.toThrow(/500/u);
});

test('Vault is asked for its health outside of the namespace, where alone it tells it', async () => {
  const server = await startServer(({ headers }, response) =>
    headers['x-vault-namespace'] === undefined
      ? response.end(JSON.stringify({ ...HEALTH, version: '1.19.5', enterprise: true }))
      : response.writeHead(404).end('{"errors":["unsupported path"]}'),
  );
  onTestFinished(server.close);
  const { client } = createTestClient(
    createTarget('secrets', server.origin, { flavor: 'hashicorp', namespace: 'admin/team' }),
  );
  expect(await askVersion(client, mask)).toEqual({ product: 'vault', version: '1.19.5+ent', note: null });
});

test.each([
  ['sealed', 'sealedcode', 503],
  ['not initialized', 'uninitcode', 501],
  ['a standby', 'standbyok', 429],
  ['a performance standby', 'perfstandbyok', 473],
  ['a DR secondary', 'drsecondarycode', 472],
  ['a standby that does not reach the active node', 'haunhealthycode', 474],
  ['removed from its cluster', 'removedcode', 530],
])('Vault that is %s tells its version as well', async (_, parameter, status) => {
  const server = await startServer(({ url = '' }, response) => {
    const code = new URL(url, 'http://vault').searchParams.get(parameter);
    const answered = code === null ? status : code === 'true' ? 200 : Number(code);
    response.writeHead(answered).end(JSON.stringify({ ...HEALTH, version: '1.19.5', enterprise: true }));
  });
  onTestFinished(server.close);
  const { client } = createTestClient(createTarget('secrets', server.origin, { flavor: 'hashicorp' }));
  expect(await askVersion(client, mask)).toEqual({ product: 'vault', version: '1.19.5+ent', note: null });
});

test.each<[string, TargetKind, Answer, readonly unknown[]]>([
  [
    'a body',
    'secrets',
    { body: { ...HEALTH, version: `1.${'9'.repeat(90)}${TOKEN}` } },
    ['vault', `1.${'9'.repeat(90)}***`],
  ],
  ['a header', 'platform', { headers: { 'TFP-AppName': `Terraform ${TOKEN}` } }, ['terraform-', null]],
])('a token that %s repeats is masked before it is cut or spelled otherwise', async (_, kind, answer, expected) => {
  expect(await ask(kind, answer)).toEqual(expected);
});

test('a token that a server gives as its name is masked before it is cut: plans and manifests have it', async () => {
  const server = await startServer((_, response) => {
    response.end(JSON.stringify({ ...HEALTH, cluster_id: TOKEN, cluster_name: `${'x'.repeat(190)}${TOKEN}` }));
  });
  onTestFinished(server.close);
  const redactor = new Redactor();
  const context = { redactor, log: createLog({ write: () => {}, redactor, quiet: true }), env: {} };
  const clients = new ServiceClients({ maxWait: 1 }, context, new AbortController().signal);
  const target = createTarget('secrets', server.origin, { flavor: 'hashicorp' });
  const expected = { cluster_id: '***', cluster_name: `${'x'.repeat(190)}***` };
  expect(await identifyService(clients, target)).toEqual(expected);
});
