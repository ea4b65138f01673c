import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { TargetKind } from '../../src/config/config.ts';
import { type FailureKind, ServiceError } from '../../src/http/errors.ts';
import { TargetLimiter } from '../../src/http/rate-limiter.ts';
import { mesh, operations, platform, scheduler, secrets } from '../../src/services/index.ts';
import type { Operation } from '../../src/services/operation.ts';
import { createTarget, createTestClient, type Handler, startServer, type TestServer } from '../helpers/http-service.ts';

const open: TestServer[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close())));

async function serve(...parameters: Parameters<typeof startServer>): Promise<TestServer> {
  const server = await startServer(...parameters);
  open.push(server);
  return server;
}

/** Valid arguments for an operation, derived from its declaration. */
function argsFor(operation: Operation): { args: Record<string, string>; body: unknown } {
  const required = Object.entries(operation.params).filter(([, { required: needed }]) => needed !== false);
  const values: Record<string, string> = { per_page: '10', type: 'workspaces' };
  const args = Object.fromEntries(required.map(([name]) => [name, values[name] ?? 'ab']));
  const example = operation.body?.required ? JSON.parse(operation.body.example) : undefined;
  if (operation.name === 'scheduler.policies.write') return { args: { policy_name: 'readonly' }, body: example };
  return { args: 'volume_id' in args && example ? { ...args, volume_id: 'db' } : args, body: example };
}

/** `handle` answers the operation alone: the read of the subject before it finds the subject, and is not counted. */
async function outcome(kind: TargetKind, operation: Operation, handle: Handler, attempts = ALL) {
  const isSubjectRead = ({ method }: { readonly method?: string | undefined }) =>
    operation.subjectRead !== undefined && method === operation.subjectRead.method;
  const server = await serve((request, response, count) =>
    isSubjectRead(request) ? void response.end('{"data":{"name":"ab"}}') : handle(request, response, count),
  );
  const { client, metrics, lines } = createTestClient(createTarget(kind, server.origin), { timeouts: { attempts } });
  const { args, body } = argsFor(operation);
  const error = await client.call(operation, args, { metrics, body }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  await client.close();
  return { error, requests: server.requests.filter((request) => !isSubjectRead(request)).length, metrics, lines };
}

const [roots, leaf] = [mesh['ca-roots'].read, mesh['ca-leaf'].read];
const ALL = 4;
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
    ['platform', platform.views.list, 408, '', ALL, 'timeout', ''],
    ['platform', platform.views.list, 409, '{"errors":["conflict"]}', 1, 'conflict', ''],
    ['platform', platform.views.list, 412, '', 1, 'precondition', ''],
    ['platform', platform.views.list, 422, '{"errors":[{"title":"invalid attribute"}]}', 1, 'invalid', '--help'],
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
    ['secrets', secrets.keys.read, 400, '{"errors":["bad"]}', 1, 'invalid', ''],
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
    ['secrets', secrets.keys.read, 404, '<html><title>Not Found</title></html>', 1, 'wrong-mount', 'mounts'],
    ['secrets', secrets.keys.read, 405, '{"errors":["unsupported operation"]}', 1, 'invalid', ''],
    ['secrets', secrets.keys.read, 412, '{"errors":["required index state not present"]}', ALL, 'precondition', ''],
    ['secrets', secrets.keys.read, 429, '{"errors":["rate limit quota exceeded"]}', ALL, 'rate-limited', ''],
    ['secrets', secrets.keys.read, 500, '{"errors":["internal error"]}', ALL, 'server', ''],
    ['secrets', secrets.keys.read, 501, '', 1, 'server', ''],
    ['secrets', secrets.keys.read, 503, '{"errors":["Vault is sealed"]}', ALL, 'sealed', 'unseal'],
    ['scheduler', scheduler.policies.read, 403, 'Permission denied', 1, 'forbidden', 'management'],
    ['scheduler', scheduler.policies.read, 403, 'ACL token not found', 1, 'unauthorized', 'token'],
    ['scheduler', scheduler.policies.read, 400, 'ACL support disabled', 1, 'invalid', 'disabled at this'],
    ['scheduler', scheduler.policies.read, 404, 'ACL policy not found', 1, 'not-found', ''],
    ['scheduler', scheduler.volumes.read, 500, 'rpc error: volume in use: db', 1, 'in-use', 'detach'],
    ['scheduler', scheduler.volumes.read, 500, 'volume not found', 1, 'not-found', ''],
    ['scheduler', scheduler.volumes.read, 500, 'plugin does not support snapshot', 1, 'server', ''],
    ['scheduler', scheduler.volumes.read, 500, 'No cluster leader', ALL, 'server', ''],
    ['scheduler', scheduler.volumes.read, 503, '', ALL, 'server', ''],
    ['mesh', roots, 403, 'ACL not found', 1, 'unauthorized', ''],
    ['mesh', leaf, 403, 'Permission denied: token lacks service:write', 1, 'forbidden', 'service:write'],
    ['mesh', roots, 429, '', ALL, 'rate-limited', ''],
    ['mesh', roots, 500, 'something else', 1, 'server', ''],
    ['mesh', roots, 500, 'rpc error: No cluster leader', ALL, 'server', ''],
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
        operation: operation.name,
        target: kind,
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

describe('what is repeated', () => {
  const writes = [...operations.values()].filter(({ mutates }) => mutates);

  it.each(writes.map((operation) => [operation.name, operation] as const))(
    '%s after 429 only where it may be, after 500, 502, 503 and a broken connection never',
    async (_, operation) => {
      const expected = operation.retryPolicy === 'if-unprocessed' ? 2 : 1;
      const throttled = await outcome(
        operation.kind,
        operation,
        (_request, response) => response.writeHead(429).end(),
        2,
      );
      expect([operation.name, throttled.requests]).toEqual([operation.name, expected]);
      for (const status of [500, 502, 503]) {
        const failing = await outcome(operation.kind, operation, (_request, response) =>
          response.writeHead(status).end(),
        );
        expect(failing.requests).toBe(1);
      }
      const broken = await outcome(operation.kind, operation, (request) => request.socket.destroy());
      expect(broken.requests).toBe(1);
      expect(broken.error).toMatchObject({ failure: 'unreachable', code: 'UNREACHABLE', exit: 3 });
    },
  );

  it('every read after a broken connection', async () => {
    for (const operation of [...operations.values()].filter(({ retryPolicy }) => retryPolicy === 'safe')) {
      const { requests, error } = await outcome(operation.kind, operation, (request) => request.socket.destroy());
      expect([operation.name, requests]).toEqual([operation.name, ALL]);
      expect(error).toMatchObject({ failure: 'unreachable' });
    }
  });

  it('a refused connection: reads and idempotent writes, but not a rotation', async () => {
    const gone = await startServer(() => {});
    await gone.close();
    for (const [operation, retries] of [
      [secrets.keys.list, 3],
      [secrets.keys.delete, 3],
      [secrets.keys.rotate, 0],
    ] as const) {
      const { client, metrics } = createTestClient(createTarget('secrets', gone.origin));
      const args = operation === secrets.keys.list ? {} : { name: 'k' };
      await expect(client.call<Operation>(operation, args, { metrics })).rejects.toMatchObject({
        failure: 'unreachable',
        serviceMessage: 'connection refused',
        status: undefined,
      });
      expect(metrics.retries).toBe(retries);
    }
  });

  it('a second attempt that succeeds is a success', async () => {
    const { error, requests, metrics, lines } = await outcome(
      'secrets',
      secrets.keys.read,
      (_request, response, count) => {
        if (count === 1) response.writeHead(503).end();
        else response.end('{"data":{"name":"k"}}');
      },
    );
    expect([error, requests, metrics.retries]).toEqual([undefined, 2, 1]);
    expect(lines).toEqual([expect.stringMatching(/^secrets: secrets\.keys\.read waits 0\.0 s: 503 sealed/u)]);
    expect(metrics.throttleWaitMs).toBeGreaterThan(0);
  });
});

describe('pauses that a service asks for', () => {
  const limited =
    (headers: Record<string, string>, status = 429) =>
    (_request: unknown, response: Parameters<Parameters<typeof startServer>[0]>[1], count: number) => {
      if (count === 1) response.writeHead(status, headers).end();
      else response.end('{"data":[]}');
    };

  it.each([
    ['Retry-After', { 'retry-after': '0.08' }, 429, 80],
    ['X-RateLimit-Reset', { 'x-ratelimit-reset': '0.08' }, 429, 80],
    ['Retry-After with 503', { 'retry-after': '0.08' }, 503, 80],
    ['Retry-After: 0, which does not spin', { 'retry-after': '0' }, 503, 20],
  ])('%s is waited for', async (_, headers, status, leastMs) => {
    const server = await serve(limited(headers, status));
    const { client, metrics } = createTestClient(createTarget('platform', server.origin), {
      timeouts: { backoffMs: 40, maxBackoffMs: 40 },
    });
    await client.call(platform.views.list, {}, { metrics });
    const [first, second] = server.requests;
    expect(second!.atMs - first!.atMs).toBeGreaterThanOrEqual(leastMs - 1);
    expect(metrics.throttleWaitMs).toBeGreaterThanOrEqual(leastMs - 1);
  });

  it('beyond maxWait fail at once and name the wait', async () => {
    const server = await serve((_request, response) => response.writeHead(429, { 'retry-after': '3600' }).end());
    const { client } = createTestClient(createTarget('platform', server.origin), { maxWaitMs: 5000 });
    const failing = client.call(platform.views.list);
    await expect(failing).rejects.toMatchObject({
      failure: 'too-long-wait',
      status: 429,
      serviceMessage: 'asked to wait 3600 s',
      hint: expect.stringContaining('maxWait'),
    });
    // All requests that share the limiter are paused: they fail too, without being sent.
    await expect(client.call(platform.agents.show, { id: 'a' })).rejects.toMatchObject({
      failure: 'too-long-wait',
      serviceMessage: expect.stringMatching(/asked to wait (?:3600|3599) s/u),
    });
    expect(server.requests).toHaveLength(1);
  });

  it('end as soon as a response advertises remaining requests, however long the window', async () => {
    const advertise = (remaining: number, reset: string) => ({
      'x-ratelimit-limit': '4',
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': reset,
    });
    const server = await serve((_request, response, count) => {
      if (count === 2) response.writeHead(429, advertise(0, '0.01')).end();
      else
        setTimeout(() => response.writeHead(200, advertise(3, count === 1 ? '3600' : '0.01')).end('{"data":[]}'), 30);
    });
    const { client, metrics } = createTestClient(createTarget('platform', server.origin), { maxWaitMs: 5000 });
    const ask = () => client.call(platform.views.list, {}, { metrics });
    await ask();
    await ask(); // from here on one request goes ahead of the first response of a window
    await sleep(30);
    await Promise.all([ask(), ask(), ask()]);
    expect(server.requests).toHaveLength(6);
    expect(metrics).toMatchObject({ throttled: 1 });
    expect(metrics.throttleWaitMs).toBeLessThan(1000);
  });

  it('pause every request of the credential, also of another target', async () => {
    const server = await serve((request, response) => {
      if (request.url?.includes('/views')) response.writeHead(429, { 'retry-after': '0.1' }).end();
      else response.end('{"data":[]}');
    });
    const limiter = new TargetLimiter({ share: 1 });
    const one = createTestClient(createTarget('platform', server.origin), { limiter, timeouts: { attempts: 1 } });
    const other = createTestClient(createTarget('platform', server.origin), { limiter });
    await expect(one.client.call(platform.views.list)).rejects.toMatchObject({ failure: 'rate-limited' });
    await other.client.call(platform['agent-pools'].list, {}, { metrics: other.metrics });
    const [first, second] = server.requests;
    expect(second!.atMs - first!.atMs).toBeGreaterThanOrEqual(99);
    expect(other.metrics.throttleWaitMs).toBeGreaterThanOrEqual(50);
  });
});

describe('concurrency', () => {
  it('no more requests are in progress than the target allows, and those that wait for their retry hold no slot', async () => {
    let inProgress = 0;
    let most = 0;
    const server = await serve((request, response) => {
      inProgress++;
      most = Math.max(most, inProgress);
      void sleep(5).then(() => {
        inProgress--;
        if (request.url?.endsWith('/agents/slow')) response.writeHead(503).end();
        else response.end('{"data":{}}');
      });
    });
    const { client } = createTestClient(
      createTarget('platform', server.origin, { limits: { concurrency: 2, share: 1, requestsPerSecond: 100_000 } }),
      {
        timeouts: { attempts: 2, backoffMs: 5000, maxBackoffMs: 5000 },
      },
    );
    const order: string[] = [];
    const slow = [1, 2].map(() => client.call(platform.agents.show, { id: 'slow' }).catch(() => order.push('slow')));
    const others = Array.from({ length: 8 }, (_, index) => client.call(platform.agents.show, { id: `a${index}` }));
    await Promise.all(others);
    order.push('others');
    expect(most).toBe(2);
    expect(order).toEqual(['others']);
    await client.close();
    void slow;
  });

  it('a signal aborts waiting requests and those in progress', async () => {
    const server = await serve(() => {});
    const { client, abort } = createTestClient(
      createTarget('platform', server.origin, { limits: { concurrency: 1, share: 1 } }),
    );
    const calls = [1, 2, 3].map((id) => client.call(platform.agents.show, { id: String(id) }));
    const settled = Promise.allSettled(calls);
    while (server.requests.length === 0) await sleep(1);
    abort.abort();
    for (const result of await settled)
      expect(result).toMatchObject({ status: 'rejected', reason: { failure: 'aborted', exit: 3 } });
    expect(server.requests).toHaveLength(1);
  });
});
