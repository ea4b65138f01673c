import { afterEach, expect, test } from 'vitest';
import type { Target } from '../../src/config/config.ts';
import { autoscaler } from '../../src/services/autoscaler.ts';
import { mesh } from '../../src/services/mesh.ts';
import type { Args, Operation } from '../../src/services/operation.ts';
import { platform } from '../../src/services/platform/operations.ts';
import { scheduler } from '../../src/services/scheduler/operations.ts';
import { secrets } from '../../src/services/secrets/operations.ts';
import { createTarget, createTestClient, startServer, type TestServer } from '../helpers/http-service.ts';

const servers: TestServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const MOUNTED: Partial<Target> = { flavor: 'hashicorp', mounts: { keymgmt: 'eu/keymgmt', mesh: 'consul' } };

const cases: readonly (readonly [Operation, Args, Partial<Target>, string])[] = [
  [secrets['mesh-roles'].read, { name: 'web' }, MOUNTED, '"read on consul/roles/web"'],
  [secrets.keys.list, {}, MOUNTED, '"list on eu/keymgmt/key"'],
  [secrets['kms-keys'].read, { name: 'aws', key_name: 'a/b' }, {}, '"read on keymgmt/kms/aws/key/a/b"'],
  [
    scheduler.volumes.read,
    { volume_id: 'db', namespace: 'team-a' },
    {},
    '"namespace:csi-read-volume in namespace team-a"',
  ],
  [scheduler.volumes.read, { volume_id: 'db' }, { namespace: '*' }, 'in namespace default"'],
  [scheduler.volumes.list, { type: 'csi' }, { namespace: '*' }, '"namespace:csi-list-volume in namespace *"'],
  [scheduler.snapshots.list, { plugin_id: 'ab' }, MOUNTED, 'csi-list-volume, plugin:read in namespace default"'],
  [mesh['ca-leaf'].read, { service: 'web' }, {}, '"service:write on web"'],
  [platform.agents.show, { id: 'agent-1' }, {}, '"manage agent pools"'],
  [autoscaler.health.read, {}, {}, 'the operation needs no permission'],
];

test.each(cases)('$name: a denial names what was asked for', async (operation, args, changes, permission) => {
  const server = await startServer((_, response) => response.writeHead(403).end('Permission denied'));
  servers.push(server);
  const { client } = createTestClient(createTarget(operation.kind, server.origin, changes));
  const given = operation.params.per_page && changes.flavor !== 'hashicorp' ? { ...args, per_page: 10 } : args;
  const error = await client.call(operation, given).catch((failure: unknown) => failure);
  await client.close();
  expect((error as { hint?: string }).hint).toContain(permission);
  expect((error as { hint?: string }).hint).not.toMatch(/[{}]/u);
});
