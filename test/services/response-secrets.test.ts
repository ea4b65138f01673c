import { expect, it } from 'vitest';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { mesh, platform, secrets } from '../../src/services/index.ts';
import type { Operation } from '../../src/services/operation.ts';
import { createTarget, createTestClient, startServer } from '../helpers/http-service.ts';

/** As a plugin may declare it. */
const createAgentToken: Operation = {
  ...platform['agent-pools'].create,
  name: 'platform.agent-tokens.create',
  path: '/agent-pools/{id}/authentication-tokens',
  params: platform['agent-pools'].show.params,
  responseType: 'document',
};

it.each<[Operation, object, object, object | undefined]>([
  [mesh['ca-leaf'].read, { service: 'web' }, { PrivateKeyPEM: 'a-secret-of-the-service' }, undefined],
  [
    createAgentToken,
    { id: 'apool-1' },
    { data: { id: 'at-1', attributes: { token: 'a-secret-of-the-service' } } },
    { data: { type: 'agent-pools', attributes: { name: 'a' } } },
  ],
])('a secret that a response has is masked from then on: $name', async (operation, args, answer, body) => {
  const server = await startServer((_, response) => response.end(JSON.stringify(answer)));
  const redactor = new Redactor();
  const { client } = createTestClient(createTarget(operation.kind, server.origin), { redactor });
  const response = await client.call(operation, { ...args }, { body });
  await client.close();
  await server.close();
  expect(response.text).toContain('a-secret-of-the-service');
  expect(redactor.text('it is a-secret-of-the-service')).not.toContain('a-secret');
});

it.each([
  ['a list of `name=value`', ['client_secret=first-part,second-part']],
  ['a map', { client_secret: 'first-part,second-part' }],
])('a credential with a comma is masked as a whole: %s', async (_, credentials) => {
  const refusal = { errors: ['first-part,second-part is no secret of azure'] };
  const server = await startServer((_request, response) => response.writeHead(400).end(JSON.stringify(refusal)));
  const { client } = createTestClient(createTarget('secrets', server.origin));
  const body = { provider: 'azurekeyvault', key_collection: 'kv', credentials };
  const error = await client.call(secrets.kms.write, { name: 'a' }, { body }).catch((thrown: unknown) => thrown);
  await client.close();
  await server.close();
  expect(String(error)).toContain('is no secret of azure');
  expect(String(error)).not.toMatch(/first-part|second-part/u);
});
