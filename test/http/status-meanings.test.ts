import { describe, expect, it } from 'vitest';
import type { TargetKind } from '../../src/config/config.ts';
import { type FailureKind, ServiceError } from '../../src/http/errors.ts';
import { tokenOperations } from '../../src/services/describe-server.ts';
import { mesh, operations, platform, scheduler, secrets } from '../../src/services/index.ts';
import type { Operation } from '../../src/services/operation.ts';
import { registry } from '../../src/services/registry.ts';
import { createTarget, createTestClient } from '../helpers/http-service.ts';
import { ALL, outcome, serve } from './call-outcome.ts';

const [roots, leaf] = [mesh['ca-roots'].read, mesh['ca-leaf'].read];
const PAGE = '<html><title>Not for you</title></html>';
const JSON_API_404 = '{"errors":[{"status":"404","title":"not found"}]}';

describe('what a status means, and whether a read is repeated', () => {
  const meanings: [TargetKind, Operation, number, string, number, FailureKind, string][] = [
    [
      'platform',
      platform.views.list,
      401,
      '{"errors":[{"status":"401","title":"unauthorized"}]}',
      1,
      'unauthorized',
      'token',
    ],
    ['platform', platform.views.list, 403, '', 1, 'forbidden', 'permission'],
    ['platform', platform.agents.show, 404, JSON_API_404, 1, 'not-found', 'lacks the permission'],
    ['platform', tokenOperations.account, 404, JSON_API_404, 1, 'not-found', 'does not have this path'],
    ['platform', platform.views.list, 202, '{"data":[]}', ALL, 'malformed', 'try again later'],
    ['secrets', secrets.keys.list, 304, '', 1, 'invalid', ''], // nobody has asked whether it has changed
    ['platform', platform.agents.show, 404, 'default backend - 404', 1, 'not-found', 'a proxy or a login page'],
    ['platform', platform.views.list, 408, '', ALL, 'timeout', ''],
    ['platform', platform.views.list, 409, '{"errors":["conflict"]}', 1, 'conflict', ''],
    ['platform', platform.views.list, 412, '', 1, 'precondition', ''],
    ['platform', platform.views.list, 421, '', 1, 'invalid', 'in front of the service'],
    ['platform', platform.views.list, 422, '{"errors":[{"title":"invalid attribute"}]}', 1, 'invalid', ''],
    [
      'platform',
      platform['agent-pools'].show,
      422,
      '{"errors":[{"title":"Agent pool is in use by workspaces"}]}',
      1,
      'in-use',
      'remove what uses it',
    ],
    ['platform', platform.views.list, 423, '', 1, 'conflict', ''],
    ['platform', platform.views.list, 429, '', ALL, 'rate-limited', 'requestsPerSecond'],
    ['platform', platform.explorer.query, 500, 'oops', ALL, 'server', 'request less'],
    ['platform', platform.views.list, 502, '<html><title>Bad Gateway</title></html>', ALL, 'server', ''],
    ['platform', platform.views.list, 503, '', ALL, 'server', ''],
    ['platform', platform.views.list, 504, '', ALL, 'server', ''],
    ['platform', platform.views.list, 522, '', ALL, 'server', ''],
    ['platform', platform.views.list, 530, PAGE, ALL, 'server', ''],
    ['platform', platform.views.list, 501, '', 1, 'server', ''],
    ['platform', platform.views.list, 425, '', ALL, 'invalid', ''],
    ['scheduler', scheduler.snapshots.list, 500, 'no such plugin', 1, 'not-found', 'check the name or id'],
    ['secrets', secrets.keys.read, 400, '{"errors":["bad"]}', 1, 'invalid', ''],
    [
      'secrets',
      secrets.keys.list,
      400,
      '{"errors":["path disabled in replication DR secondary mode"]}',
      1,
      'invalid',
      'set `url` of this target to its primary',
    ],
    [
      'secrets',
      secrets.keys.list,
      503,
      '{"errors":["API access to this namespace has been locked by an administrator - \\"team/\\" must be unlocked to gain access."]}',
      ALL,
      'sealed',
      'vault namespace unlock',
    ],
    [
      'secrets',
      secrets.keys.read,
      403,
      '{"errors":["1 error occurred:\\n\\t* permission denied\\n\\n"]}',
      1,
      'forbidden',
      'or is not valid',
    ],
    ['secrets', secrets.keys.read, 404, '{"errors":[]}', 1, 'not-found', 'does not exist'],
    [
      'secrets',
      secrets.keys.read,
      404,
      '{"errors":["no handler for route \\"x\\". route entry not found."]}',
      1,
      'wrong-mount',
      'mounts',
    ],
    [
      'secrets',
      secrets.keys.list,
      404,
      '{"errors":["no handler for route \\"x\\". route entry not found."]}',
      1,
      'wrong-mount',
      'mounts',
    ],
    ['secrets', secrets.keys.read, 404, '{"errors":["no key named x"]}', 1, 'not-found', 'does not exist'],
    ['secrets', secrets.keys.providers, 404, '{"errors":["key \\"x\\" not found"]}', 1, 'not-found', 'does not exist'],
    ['secrets', secrets.keys.list, 404, '{"errors":["nothing here"]}', 1, 'wrong-mount', 'mounts'],
    [
      'secrets',
      secrets.keys.read,
      404,
      '{"errors":["namespace not found"]}',
      1,
      'wrong-mount',
      'check `namespace` of this target: the server does not have it',
    ],
    [
      'secrets',
      secrets.keys.read,
      404,
      '<html><title>Not Found</title></html>',
      1,
      'malformed',
      'a proxy or a login page',
    ],
    ['secrets', secrets.keys.list, 404, 'default backend - 404', 1, 'not-found', '`url`'],
    ['secrets', secrets.keys.list, 503, PAGE, ALL, 'server', 'what is in front of the service answered'],
    ['secrets', secrets.keys.rotate, 413, PAGE, 1, 'too-large', 'accept larger requests'],
    ['mesh', roots, 502, PAGE, ALL, 'server', 'what is in front of the service answered'],
    ['secrets', secrets.keys.read, 404, '{"errors":["no key an HTML page"]}', 1, 'not-found', 'does not exist'],
    [
      'platform',
      platform.views.list,
      200,
      '{"data":[],"errors":[{"title":"a shard is down"}]}',
      3,
      'malformed',
      'faulty',
    ],
    ['secrets', secrets.keys.list, 200, '{"data":{"keys":["a"]},"errors":["cut"]}', 3, 'malformed', 'faulty'],
    ['secrets', secrets.keys.read, 200, '{"data":{}}', 3, 'malformed', 'a proxy or a login page'],
    [
      'secrets',
      secrets.keys.list,
      200,
      '{"data":{},"warnings":["Endpoint ignored these \\u001bunrecognized\\nparameters: [limit]"]}',
      3,
      'malformed',
      'the service warns: Endpoint ignored these unrecognized parameters: [limit]',
    ],
    [
      'secrets',
      secrets.keys.read,
      200,
      '{"data":null,"wrap_info":{"token":"hvs.x","ttl":300,"creation_path":"keymgmt/key/a"},"auth":null}',
      3,
      'malformed',
      'wraps what this path answers',
    ],
    ['secrets', secrets['mesh-roles'].read, 200, '{"data":{"policy":null}}', 3, 'malformed', 'a proxy or a login page'],
    ['scheduler', scheduler.policies.read, 200, '{"data":null}', 3, 'malformed', 'a proxy or a login page'],
    ['secrets', secrets.keys.read, 405, '{"errors":["unsupported operation"]}', 1, 'invalid', ''],
    ['secrets', secrets.keys.read, 412, '{"errors":["required index state not present"]}', ALL, 'precondition', ''],
    ['secrets', secrets.keys.read, 429, '{"errors":["rate limit quota exceeded"]}', ALL, 'rate-limited', ''],
    ['secrets', secrets.keys.read, 500, '{"errors":["internal error"]}', ALL, 'server', ''],
    ['secrets', secrets.keys.read, 472, '', 1, 'sealed', 'unseal'],
    ['secrets', secrets.keys.read, 473, '', 1, 'sealed', 'unseal'],
    ['secrets', secrets.keys.read, 474, '', 1, 'sealed', 'unseal'],
    ['secrets', secrets.keys.read, 501, '', 1, 'sealed', 'unseal'],
    ['platform', platform.agents.show, 404, PAGE, 1, 'not-found', 'a proxy or a login page'],
    ['platform', platform.views.list, 401, PAGE, 1, 'malformed', 'a proxy or a login page'],
    ['secrets', secrets.keys.read, 403, PAGE, 1, 'malformed', 'a proxy or a login page'],
    ['scheduler', scheduler.policies.read, 404, PAGE, 1, 'malformed', 'a proxy or a login page'],
    ['secrets', secrets.keys.read, 503, '{"errors":["Vault is sealed"]}', ALL, 'sealed', 'unseal'],
    ['scheduler', scheduler.policies.read, 403, 'Permission denied', 1, 'forbidden', 'management'],
    ['scheduler', scheduler.policies.read, 403, 'ACL token not found', 1, 'unauthorized', 'token'],
    ['scheduler', tokenOperations.scheduler, 404, 'ACL token not found', 1, 'unauthorized', 'token'],
    ['scheduler', scheduler.policies.read, 500, 'ACL token expired', 1, 'unauthorized', 'token'],
    ['scheduler', scheduler.policies.read, 500, 'ACL token is invalid', 1, 'unauthorized', 'token'],
    [
      'scheduler',
      tokenOperations.scheduler,
      500,
      'rpc error: acl token lookup failed: index error: UUID must be 36 characters',
      1,
      'unauthorized',
      'token',
    ],
    [
      'scheduler',
      tokenOperations.scheduler,
      500,
      'failed to parse signed token: go-jose/go-jose: compact JWS format must have three parts',
      1,
      'unauthorized',
      'token',
    ],
    [
      'scheduler',
      tokenOperations.scheduler,
      500,
      'invalid signature: go-jose/go-jose: error in cryptographic primitive',
      1,
      'unauthorized',
      'token',
    ],
    ['scheduler', scheduler.policies.read, 500, 'rpc error: code = Aborted desc = next token expired', 1, 'server', ''],
    ['scheduler', scheduler.policies.read, 400, 'ACL support disabled', 1, 'invalid', 'disabled at this'],
    ['scheduler', scheduler.policies.read, 404, 'ACL policy not found', 1, 'not-found', ''],
    ['scheduler', scheduler.volumes.read, 500, 'rpc error: volume in use: db', 1, 'in-use', 'detach'],
    ['scheduler', scheduler.volumes.delete, 500, 'volume in use: db', 1, 'in-use', 'may have deleted it'],
    ['scheduler', scheduler.volumes.read, 500, 'volume not found', 1, 'not-found', ''],
    [
      'scheduler',
      scheduler.volumes.read,
      500,
      'failed to get conn: dial tcp: lookup server-1: no such host',
      ALL,
      'server',
      '',
    ],
    [
      'scheduler',
      scheduler.volumes.read,
      500,
      'dial unix csi.sock: connect: no such file or directory',
      1,
      'server',
      '',
    ],
    ['scheduler', scheduler.volumes.read, 500, 'plugin does not support snapshot', 1, 'server', ''],
    ['scheduler', scheduler.volumes.read, 500, 'No cluster leader', ALL, 'server', ''],
    ['scheduler', scheduler.volumes.read, 500, 'rpc error making call: EOF', ALL, 'server', ''],
    ['scheduler', scheduler.volumes.read, 500, 'Not ready to serve consistent reads', ALL, 'server', ''],
    ['scheduler', scheduler.volumes.read, 500, 'no servers', ALL, 'server', ''],
    ['scheduler', scheduler.policies.list, 404, '404 page not found', 1, 'not-found', '`url`'],
    ['scheduler', scheduler.volumes.read, 503, '', ALL, 'server', ''],
    ['mesh', roots, 403, 'ACL not found', 1, 'unauthorized', ''],
    ['mesh', leaf, 403, 'Permission denied: token lacks service:write', 1, 'forbidden', 'service:write'],
    ['mesh', roots, 401, 'ACL support disabled', 1, 'unauthorized', 'disabled at this'],
    ['mesh', roots, 500, 'rpc error getting client: failed to get conn: EOF', ALL, 'server', ''],
    ['mesh', roots, 429, '', ALL, 'rate-limited', ''],
    ['mesh', roots, 500, 'something else', 1, 'server', ''],
    ['mesh', roots, 500, 'rpc error: No cluster leader', ALL, 'server', ''],
    ['mesh', roots, 500, 'rpc error making call: Not ready to serve consistent reads', ALL, 'server', ''],
    ['mesh', roots, 500, 'No known Consul servers', ALL, 'server', ''],
    ['mesh', roots, 500, 'Raft leader not found in server lookup mapping', ALL, 'server', ''],
    ['mesh', roots, 503, 'rate limit exceeded, try again later', ALL, 'rate-limited', ''],
    [
      'autoscaler',
      operations.get('autoscaler.metrics.read')!,
      500,
      'no metric intervals have been initialized yet',
      ALL,
      'server',
      '',
    ],
    ['autoscaler', operations.get('autoscaler.metrics.read')!, 500, 'other', 1, 'server', ''],
    ['autoscaler', operations.get('autoscaler.metrics.read')!, 415, 'Prometheus is not enabled', 1, 'invalid', ''],
  ];
  it.each(meanings.map((row) => [`${row[1].name} ${row[2]} ${row[3]}`, ...row] as const))(
    '%s',
    async (_, kind, operation, status, body, attempts, failure, hint) => {
      const { error, requests, metrics } = await outcome(kind, operation, (_request, response) => {
        response.writeHead(status).end(body);
      });
      expect(error).toBeInstanceOf(ServiceError);
      expect(error).toMatchObject({
        failure,
        status,
        details: { operation: operation.name, target: kind },
        code: 'REFUSED',
        exit: 3,
      });
      expect((error as ServiceError).hint ?? '').toContain(hint);
      expect((error as ServiceError).message).toMatch(
        new RegExp(`^${operation.name.replaceAll('.', '\\.')} at ${kind}: ${status} ${failure}(?:: .+)?$`, 'u'),
      );
      expect(requests).toBe(attempts);
      expect(metrics).toMatchObject({
        requests: attempts,
        retries: attempts - 1,
        throttled: status === 429 ? attempts : 0,
      });
    },
  );

  it.each<[TargetKind, Operation, Readonly<Record<string, string>>, string | undefined]>([
    ['scheduler', scheduler.volumes.list, { 'X-Nomad-Index': '50', 'X-Nomad-KnownLeader': 'false' }, 'knows no leader'],
    [
      'scheduler',
      scheduler.volumes.list,
      { 'X-Nomad-KnownLeader': 'true', 'X-Nomad-LastContact': '900000' },
      '900 s ago',
    ],
    [
      'mesh',
      roots,
      { 'X-Consul-KnownLeader': 'true', 'X-Consul-LastContact': '12', 'X-Cache': 'HIT', Age: '86400' },
      'ago',
    ],
    [
      'mesh',
      roots,
      { 'X-Consul-KnownLeader': 'true', 'X-Consul-LastContact': '12', 'X-Cache': 'HIT', Age: '3' },
      undefined,
    ],
    // the age of the certificate
    ['mesh', leaf, { 'X-Consul-Index': '38', 'X-Cache': 'HIT', Age: '86400' }, undefined],
    // as recorded of a storage plugin
    ['scheduler', scheduler.volumes.list, { 'X-Nomad-Index': '0', 'X-Nomad-KnownLeader': 'false' }, undefined],
  ])('an answer of the past is none: %s %s %o', async (kind, operation, headers, says) => {
    const { error } = await outcome(kind, operation, (_request, response) =>
      response.writeHead(200, headers).end(kind === 'scheduler' ? '[]' : '{"Roots":[]}'),
    );
    if (says === undefined) expect(error).toBeUndefined();
    else expect(error).toMatchObject({ failure: 'server', serviceMessage: expect.stringContaining(says) });
  });

  it.each<[TargetKind, Operation, number, string]>([
    ['platform', platform.views.list, 200, '{"data":[]}'],
    ['secrets', secrets.keys.list, 200, '{"data":{"keys":["a"]}}'],
    ['secrets', secrets.keys.list, 404, '{"errors":[]}'],
    ['scheduler', scheduler.policies.list, 200, '[]'],
    ['autoscaler', operations.get('autoscaler.health.read')!, 200, ''],
    ['autoscaler', operations.get('autoscaler.health.read')!, 503, 'Service unavailable'],
  ])('what a cache has kept is of the past: %s %s %d', async (kind, operation, status, body) => {
    const answer = (age: string) =>
      outcome(kind, operation, (_request, response) => response.writeHead(status, { Age: age }).end(body));
    expect((await answer('86400')).error).toMatchObject({
      failure: 'server',
      serviceMessage: 'the answer is stale: it is of 86400 s ago',
      hint: expect.stringContaining('cache'),
    });
    expect((await answer('5')).error).toBeUndefined();
  });

  it('that nothing has changed is of the past as well', async () => {
    const server = await serve((_request, response) => response.writeHead(304, { Age: '86400' }).end());
    const { client } = createTestClient(createTarget('scheduler', server.origin));
    const asked = client.call(scheduler.policies.read, { policy_name: 'p' }, { conditions: { etag: '"1"' } });
    await expect(asked).rejects.toMatchObject({ serviceMessage: 'the answer is stale: it is of 86400 s ago' });
  });

  it('a registry may be behind a cache', async () => {
    const server = await serve((_request, response) =>
      response.writeHead(200, { Age: '86400' }).end('{"versions":[]}'),
    );
    const { client } = createTestClient(createTarget('registry', server.origin));
    const args = { namespace: 'hashicorp', name: 'aws' };
    expect((await client.call(registry.providers.versions, args)).status).toBe(200);
  });

  it.each<[TargetKind, Operation]>([
    ['platform', platform.agents.delete],
    ['secrets', secrets.keys.rotate],
    ['scheduler', scheduler.policies.delete],
  ])('a change that is answered with errors has failed, whatever the status: %s %o', async (kind, operation) => {
    const { error, requests } = await outcome(kind, operation, (_request, response) =>
      response.writeHead(200).end('{"errors":["permission denied"],"data":null}'),
    );
    expect([error, requests]).toEqual([
      expect.objectContaining({ failure: 'malformed', serviceMessage: expect.stringContaining('permission denied') }),
      1,
    ]);
  });

  it('a proxy that wants a password is not a service that is down', async () => {
    const { error, requests } = await outcome('mesh', roots, (_request, response) => response.writeHead(407).end());
    expect(requests).toBe(1);
    expect(error).toMatchObject({
      message: expect.stringContaining('the proxy answered 407'),
      hint: expect.stringMatching(/HTTPS_PROXY or HTTP_PROXY.*CONNECT to this port/u),
    });
  });

  it('a live agent has a specific hint', async () => {
    const { error } = await outcome('platform', platform.agents.delete, (_request, response) =>
      response.writeHead(412).end(),
    );
    expect(error).toMatchObject({
      failure: 'precondition',
      hint: expect.stringContaining('unknown, errored or exited'),
    });
  });

  it('an autoscaler that is down and an empty LIST are not errors', async () => {
    const server = await serve((_request, response, count) =>
      response.writeHead(count === 1 ? 503 : 404).end(count === 1 ? 'Service unavailable' : '{"errors":[]}'),
    );
    const health = await createTestClient(createTarget('autoscaler', server.origin)).client.call(
      operations.get('autoscaler.health.read')!,
    );
    expect(health.status).toBe(503);
    const keys = await createTestClient(createTarget('secrets', server.origin)).client.call(secrets.keys.list);
    expect(keys.json()).toEqual({ data: { keys: [] } });
    expect(server.requests).toHaveLength(2);
  });
});
