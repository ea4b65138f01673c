import { existsSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import { printJsonArray } from '../../src/cli/output.ts';
import { operations } from '../../src/services/index.ts';
import { tempFolder } from '../helpers/temp.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { type ApiInput, runApi } from './api-harness.ts';

let sandbox: RunningSandbox;
beforeEach(async () => {
  sandbox = await startTestSandbox({ workspaces: 60 });
});
afterEach(() => sandbox.close());

const run = (words: readonly string[], input: Partial<ApiInput> = {}) =>
  runApi(words, { config: sandbox.config(), ...input });
const rotate = ['secrets.keys.rotate', 'name=ledger-archive'];
const detach = ['scheduler.volumes.detach', 'volume_id=v', 'node=n'];
const PAGE = '<html><title>Login</title></html>';

describe('what changes something', () => {
  it('needs --yes without a terminal: exit 6, nothing sent', async () => {
    const { exit, stderr, stdout } = await run(rotate);
    expect([exit, stdout]).toEqual([6, '']);
    expect(stderr).toContain('needs --yes');
    expect(sandbox.log).toEqual([]);
  });

  it('is wrong before it is unsafe: exit 2 comes first', async () => {
    expect((await run(['secrets.keys.rotate'])).exit).toBe(2);
  });

  it.each([
    ['y\n', 0],
    ['YES\n', 0],
    ['n\n', 6],
    ['\n', 6],
    ['', 6],
    ['yesterday\n', 6],
  ])('asks on a terminal: %j', async (stdin, exit) => {
    const result = await run(rotate, { terminal: true, stdin });
    expect(result.exit).toBe(exit);
    expect(result.stderr).toContain('secrets.keys.rotate on vault name=ledger-archive: creates a new version of a key');
    expect(sandbox.log).toHaveLength(exit === 0 ? 1 : 0);
  });

  it('says on the terminal what cannot be undone', async () => {
    const { stderr } = await run(['secrets.keys.delete', 'name=x'], { terminal: true, stdin: 'n' });
    expect(stderr).toContain('This cannot be undone.');
  });

  it('is every operation that is not a read, generated tokens included', async () => {
    expect((await run(['secrets.mesh-creds.generate', 'name=web-read'])).exit).toBe(6);
    expect(
      (await run(['mesh.connect.authorize', '--body', '{"Target":"a","ClientCertURI":"b","ClientCertSerial":"c"}']))
        .exit,
    ).not.toBe(6);
  });

  it.each([
    [rotate, 500, PAGE, true],
    [rotate, 200, PAGE, true],
    [rotate, 409, PAGE, true],
    [rotate, 409, '{"errors":["conflict"]}', false],
    [rotate, 403, '{"errors":["permission denied"]}', false],
    [rotate, 403, '{"message":"Forbidden"}', true],
    [rotate, 401, '', true],
    [rotate, 404, 'no route', true],
    [rotate, 429, '{"message":"Too Many Requests"}', false],
    [detach, 403, 'Permission denied', false],
    [detach, 403, 'RBAC: access denied', true],
    [detach, 403, 'denied by the oracle', true],
    [detach, 400, 'missing node ID', false],
    [detach, 400, '{"message":"Bad Request"}', true],
    [detach, 500, 'volume in use: cache', false],
    [['scheduler.volumes.delete', 'volume_id=cache'], 500, 'volume in use: cache', true],
    [['scheduler.volumes.delete', 'volume_id=cache'], 500, 'volume not found: cache', false],
    [['secrets.keys.read', 'name=ledger-archive'], 500, PAGE, false],
  ])('%j that fails with %d %s may have been done: %j', async (words, status, body, mayBeDone) => {
    await sandbox.close();
    sandbox = await startTestSandbox({ faultHook: () => ({ status, body }) });
    const { exit, stderr } = await run([...words, '--yes']);
    expect(exit).toBe(3);
    expect(stderr.includes(`${words[0]} may have been done: read what it changes`)).toBe(mayBeDone);
  });

  it.each([
    [202, '{}', true],
    [200, '{"wrap_info":{"ttl":60}}', true],
    [200, '{"data":{}}', false],
    [204, '', false],
  ])('that is answered with %d %s may not be done: %j', async (status, body, mayWait) => {
    await sandbox.close();
    sandbox = await startTestSandbox({ faultHook: () => ({ status, body }) });
    const { exit, stderr } = await run([...rotate, '--yes']);
    expect(exit).toBe(0);
    expect(stderr.includes('secrets.keys.rotate is accepted, and may not be done')).toBe(mayWait);
  });

  it('uses writeToken; reading does not', async () => {
    await run([...rotate, '--yes']);
    await run(['secrets.keys.list']);
    expect(sandbox.log.map(({ headers }) => headers['x-store-token'])).toEqual([
      sandbox.tokens.secrets.write,
      sandbox.tokens.secrets.read,
    ]);
  });
});

describe('the target', () => {
  const two = () => `${sandbox.config()}  - { name: other, kind: secrets, url: "http://127.0.0.1:1", token: tttt }\n`;

  it('must be named where there are several of its kind', async () => {
    const { exit, stderr } = await run(['secrets.keys.list'], { config: two() });
    expect(exit).toBe(2);
    expect(stderr).toMatch(/--target is required.*\n.*choose one: vault, other/u);
    expect((await run(['secrets.keys.list', '--target', 'vault'], { config: two() })).exit).toBe(0);
  });

  it.each([
    ['vaul', 'did you mean vault?'],
    ['nomad', 'needs a target of kind secrets; nomad is scheduler'],
  ])('%s', async (target, says) => {
    const { exit, stderr } = await run(['secrets.keys.list', '--target', target]);
    expect([exit, stderr]).toEqual([2, expect.stringContaining(says)]);
  });

  it('of the kind must be configured', async () => {
    const config = sandbox
      .config()
      .replace('kind: mesh', 'kind: autoscaler')
      .replaceAll(/ {4}services:\n(?: {6}- .*\n)+/gu, '');
    const { stderr } = await run(['mesh.ca-roots.read'], { config });
    expect(stderr).toContain('no target of this kind is configured');
  });

  it('that cannot be reached: exit 3', async () => {
    await sandbox.close();
    const { exit, stderr } = await run(['secrets.keys.rotate', 'name=k', '--yes']);
    expect([exit, stderr]).toEqual([3, expect.stringContaining('unreachable: connection refused')]);
    sandbox = await startTestSandbox({ workspaces: 10 });
  });
});

describe('the request body', () => {
  const create = ['secrets.keys.create', 'name=fresh', '--yes', '--body'];
  const type = () => sandbox.services.secrets.state.keys.get('fresh')?.type;

  it('comes as JSON, from a file, or from standard input', async () => {
    const folder = await tempFolder();
    writeFileSync(join(folder, 'body.json'), '{"type": "rsa-4096"}');
    expect([(await run([...create, `@${join(folder, 'body.json')}`])).stderr, type()]).toEqual(['', 'rsa-4096']);
    sandbox.services.secrets.state.keys.delete('fresh');
    expect([(await run([...create, '-'], { stdin: '\uFEFF{"type": "ecdsa-p256"}' })).stderr, type()]).toEqual([
      '',
      'ecdsa-p256',
    ]);
  });

  it.each([
    ['{secret-body', '--body is not valid JSON'],
    ['@/missing.json', '/missing.json does not exist'],
    ['-', '--body is not valid JSON'],
    ['["secret-body"]', 'secrets.keys.create: body: must be a map of keys'],
    ['{"secret-body": 1, "secret-body": 2}', '--body has two values under one name, the second at character 20'],
    [
      '{"type": "rsa-4096", "more": [{"a": [0, -1e999]}]}',
      'secrets.keys.create: body.more[0].a[1]: is no number that JSON',
    ],
  ])('%s is refused, and not repeated', async (body, says) => {
    const { exit, stderr } = await run([...create, body]);
    expect([exit, stderr]).toEqual([2, expect.stringContaining(says)]);
    expect(stderr).not.toContain('secret-body');
    expect(sandbox.log).toEqual([]);
  });

  it('from a file without an end is refused', async () => {
    const file = join(await tempFolder(), 'large.json');
    writeFileSync(file, '');
    truncateSync(file, 64 * 1024 * 1024 + 1); // a device without an end would take all memory, were it read
    const { exit, stderr } = await run([...create, `@${file}`]);
    expect([exit, stderr]).toEqual([
      2,
      expect.stringContaining('large.json cannot be read: it is larger than 65536 KiB'),
    ]);
  });

  it('keeps the digits of 64-bit integers', async () => {
    const body = '{"Volumes":[{"ID":"v","PluginID":"aws-ebs0","RequestedCapacityMin":9223372036854775807}]}';
    await run(['scheduler.volumes.create', 'volume_id=v', '--yes', '--body', body]);
    expect(sandbox.log[0]?.body).toBe(body);
  });
});

describe('the result', () => {
  it('is indented JSON', async () => {
    const { stdout } = await run(['secrets.kms.read', 'name=azure-eu']);
    expect(stdout).toMatch(/^\{\n {2}"/u);
    expect(stdout).toMatch(/\n\}\n$/u);
  });

  it('is CSV as it was sent, byte for byte, with any options', async () => {
    const words = ['platform.explorer.export', 'type=workspaces'];
    const { stdout } = await run(words);
    const response = await fetch(
      `${sandbox.urls.platform}/api/v2/organizations/acme/explorer/export/csv?type=workspaces`,
      {
        headers: { authorization: `Bearer ${sandbox.tokens.platform.read}` },
      },
    );
    expect(stdout).toBe(await response.text());
    expect((await run(words, { json: true })).stdout).toBe(stdout);
  });

  it('of CSV is in a folder that another process removes where this one is killed', async () => {
    const abandoned = join(tmpdir(), `tidemark-query-${hostname()}-999999999-abcdef`);
    mkdirSync(abandoned, { recursive: true });
    await run(['platform.explorer.export', 'type=workspaces']);
    expect(existsSync(abandoned)).toBe(false);
  });

  it.each([200, 204])('of an empty answer is its status, of CSV too: %i', async (status) => {
    await sandbox.close();
    sandbox = await startTestSandbox({ faultHook: () => ({ status }) });
    const words = [
      ['platform.views.csv', 'view_id=v'],
      ['secrets.keys.rotate', 'name=k', '--yes'],
    ];
    for (const asked of words) expect((await run(asked)).stdout).toBe(`{"status": ${status}}\n`);
  });

  it('of CSV and of text is asked for without compression, of which nothing tells that it is cut', async () => {
    await sandbox.close();
    sandbox = await startTestSandbox({
      faultHook: ({ headers }) => ({ status: 200, body: `"${headers['accept-encoding']}"\n` }),
    });
    expect((await run(['platform.views.csv', 'view_id=v'])).stdout).toBe('"identity"\n');
    expect((await run(['autoscaler.metrics.read', 'format=prometheus'])).stdout).toBe('"identity"\n');
  });

  it('on a terminal holds no control characters', async () => {
    await sandbox.close();
    sandbox = await startTestSandbox({ faultHook: () => ({ status: 200, body: '"a"\n"\u001b]0;x\u0007b"\n' }) });
    expect((await run(['platform.views.csv', 'view_id=v'], { terminal: true })).stdout).toBe('"a"\n"]0;xb"\n');
    expect((await run(['platform.views.csv', 'view_id=v'])).stdout).toBe('"a"\n"\u001b]0;x\u0007b"\n');
  });

  it('is text where text was asked for', async () => {
    const { stdout, exit } = await run(['autoscaler.metrics.read', 'format=prometheus']);
    expect([exit, stdout]).toEqual([0, expect.stringMatching(/^# |^\w+\{?/u)]);
  });

  it('of an autoscaler that is down is an answer', async () => {
    for (let night = 0; night < 5; night++) sandbox.tick();
    const { exit, stdout } = await run(['autoscaler.health.read']);
    expect([exit, stdout, sandbox.log[0]?.status]).toEqual([0, 'Service unavailable\n', 503]);
  });

  it('of an empty list is an empty list', async () => {
    const { exit, stdout } = await run(['secrets.kms-keys.list', 'name=lab-empty']);
    expect([exit, JSON.parse(stdout)]).toEqual([0, { data: { keys: [] } }]);
  });

  it('of --all is one array of every page, digits kept', async () => {
    const all = JSON.parse((await run(['platform.explorer.query', 'type=workspaces', 'page[size]=7', '--all'])).stdout);
    expect(all).toHaveLength(60);
    expect(sandbox.log).toHaveLength(9);
    const snapshots = JSON.parse(
      (await run(['scheduler.snapshots.list', 'plugin_id=beefcafe', 'per_page=10', '--all'])).stdout,
    );
    expect(snapshots).toHaveLength(24);
    expect((await run(['mesh.ca-roots.read', '--all'])).stdout).toContain('"SerialNumber": 10000000000001235667');
    expect((await run(['secrets.kms-keys.list', 'name=lab-empty', '--all'])).stdout).toBe('[]\n');
  });

  it('waits for a slow reader: what it has not taken is not read ahead', async () => {
    const words = ['platform.explorer.query', 'type=workspaces', 'page[size]=7', '--all'];
    let parts = 0;
    const drain = async () => {
      parts++;
      if (parts === 1) await new Promise((resolve) => setTimeout(resolve, 300));
      if (parts === 1) expect(sandbox.log.length).toBeLessThan(4);
    };
    const { exit, stdout } = await run(words, { drain });
    expect([exit, JSON.parse(stdout).length]).toEqual([0, 60]);
    expect(parts).toBeGreaterThan(8);
  });

  it('of several items is indented without a change in a text that has line separators of Unicode', async () => {
    const items = [{ name: 'a\u2028b\u2029c\rd' }, { name: '' }];
    let text = '';
    await printJsonArray(items, async (part) => {
      text += part;
    });
    expect(JSON.parse(text)).toEqual(items);
    expect(text.split('\n').slice(0, 3)).toEqual(['[', '  {', expect.stringMatching(/^ {4}"name": "a/u)]);
  });

  it('of --all for what is no list is a wrong usage', async () => {
    for (const words of [
      ['secrets.kms.read', 'name=azure-eu'],
      ['platform.views.csv', 'view_id=v'],
    ]) {
      const { exit, stderr } = await run([...words, '--all']);
      expect([exit, stderr]).toEqual([2, expect.stringContaining('--all does not apply')]);
    }
    expect(sandbox.log).toEqual([]);
  });

  it('holds the secret that was asked for; messages never do', async () => {
    const { stdout, stderr } = await run(['secrets.mesh-creds.generate', 'name=web-read', '--yes']);
    expect(stdout).toContain(sandbox.services.secrets.state.generated.at(-1)!.token);
    expect(stderr).toBe('');
  });
});

describe('help', () => {
  it('--list names every operation, and marks what changes something', async () => {
    const { stdout, exit } = await run(['--list']);
    const lines = stdout.trimEnd().split('\n');
    expect([exit, lines.length]).toEqual([0, operations.size]);
    for (const { name, mutates } of operations.values()) {
      expect(lines.find((line) => line.startsWith(`${name} `))).toMatch(mutates ? / {2}! {2}/u : / {5}/u);
    }
  });

  it('--list --json has every fact of the declarations', async () => {
    const rows = JSON.parse((await run(['--list'], { json: true })).stdout);
    expect(rows).toHaveLength(operations.size);
    expect(rows[0]).toMatchObject({
      operation: 'platform.agent-pools.list',
      method: 'GET',
      mutates: false,
      retry_policy: 'safe',
    });
  });

  it('of an operation comes from its declaration, without a configuration', async () => {
    const { stdout, exit } = await run(['secrets.kms-keys.distribute', '--help'], { config: '' });
    expect(exit).toBe(0);
    expect(stdout).toMatchInlineSnapshot(`
      "secrets.kms-keys.distribute: distributes a key to a provider

      Usage: tidemark api secrets.kms-keys.distribute name=… key_name=… --body JSON|@FILE|-

        name      name of the KMS provider (required)
        key_name  name of the key (required)

      Body, such as {"purpose": ["encrypt", "decrypt"], "protection": "hsm"}

      Request:       POST /keymgmt/kms/{name}/key/{key_name}
      Changes:       yes
      Retried:       never
      Permission:    create, update on keymgmt/kms/{name}/key/{key_name}
      Documentation: docs/services/secrets.md#key-distributions
      "
    `);
  });

  it('an unknown operation names the nearest', async () => {
    const { exit, stderr } = await run(['platform.agent.list']);
    expect([exit, stderr]).toEqual([2, expect.stringContaining('did you mean platform.agents.list?')]);
  });

  it('a word that is not name=value is refused', async () => {
    const { exit, stderr } = await run(['platform.agents.show', 'agent-1']);
    expect([exit, stderr]).toEqual([2, expect.stringContaining('`agent-1` is not name=value')]);
  });
});

describe('--unchecked', () => {
  const pools = ['platform.agent-pools.list', 'filter[allowed_projects][name]=x'];
  const live = () => sandbox.config().replaceAll('kind: platform', 'kind: platform\n    flavor: hashicorp');

  it('sends a filter that the documents do not list; without it nothing is sent', async () => {
    const { exit, stderr } = await run(pools, { config: live() });
    expect(exit).toBe(2);
    expect(stderr).toContain('filter[allowed_projects][name]: is not a parameter');
    expect(sandbox.log).toEqual([]);
    await run([...pools, '--unchecked'], { config: live() });
    expect(sandbox.log.at(-1)?.query).toBe('filter%5Ballowed_projects%5D%5Bname%5D=x');
  });

  it('sends a field and a view that the documents do not list', async () => {
    const query = ['platform.explorer.query', 'type=invented', 'filter=shoe_size:is:9'];
    expect((await run(query)).exit).toBe(2);
    await run([...query, '--unchecked']);
    expect(decodeURIComponent(sandbox.log.at(-1)!.query)).toContain('filter[0][shoe_size][is][0]=9');
  });

  it('still needs what is in the path, and applies to reads only', async () => {
    expect((await run(['platform.agents.list', 'x=1', '--unchecked'])).exit).toBe(2);
    expect((await run([...rotate, '--yes', '--unchecked'])).exit).toBe(2);
    expect(sandbox.log).toEqual([]);
  });
});
