import { execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { scheduler } from '../../src/services/index.ts';
import { cli } from '../helpers/cli.ts';
import { createTarget, createTestClient, startServer } from '../helpers/http-service.ts';
import { tempFolder } from '../helpers/temp.ts';
import { testProject } from '../helpers/test-project.ts';

/** Both halves of a token that something breaks in two. */
const HALVES = ['first-half-of-it', 'second-half-of-it'] as const;
const BREAKS = ['\n', '\r\n', '\r', '\t', '\u001b[2J', '\u007f', '\u0085'];

async function project(token: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = await tempFolder();
  const targets = [{ name: 'vault', kind: 'secrets', url: 'http://127.0.0.1:9', token }];
  await writeFile(join(folder, 'tidemark.yaml'), JSON.stringify({ targets }, null, 1));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

async function refused(cwd: string, env: Record<string, string> = {}) {
  const runs = await Promise.all(['pull', 'doctor'].map((command) => cli([command], { cwd, env })));
  expect(runs.map(({ exit }) => exit)).toEqual([2, 2]);
  const text = runs.map(({ stdout, stderr }) => stdout + stderr).join('\n');
  expect(text).toMatch(/tidemark\.yaml:\d+: targets\[0\]\.token: /u);
  for (const half of HALVES) expect(text).not.toContain(half);
  return text;
}

describe('a token with a control character is refused with file and field, without its value', () => {
  test.each(BREAKS)('%j in a variable', async (mark) => {
    const text = await refused(await project(`\${ST}`), { ST: HALVES.join(mark) });
    expect(text).toContain(`\${ST}: the value has a line break or another control character`);
  });

  test.each(['\n', '\t'])('%j in .env', async (mark) => {
    await refused(await project(`\${ST}`, { '.env': `ST="${HALVES.join(mark)}"\n` }));
  });

  test.each(BREAKS)('%j in a file', async (mark) => {
    await refused(await project(`\${file:token}`, { token: `${HALVES.join(mark)}\n` }));
  });

  test.each([...BREAKS, '\u2028', '…'])('%j in the configuration', async (mark) => {
    await refused(await project(HALVES.join(mark)));
  });
});

test('line breaks at the end of a file, and spaces around a token, are not part of it', async () => {
  const seen: (string | undefined)[] = [];
  const server = await startServer((request, response) => {
    seen.push(request.headers['x-store-token'] as string | undefined);
    response.end('{"data":{"keys":[]}}');
  });
  const folder = await project(`\${file:token}`, { token: '  a-token-of-a-file \r\n\n' });
  await writeFile(
    join(folder, 'tidemark.yaml'),
    `targets: [{ name: v, kind: secrets, url: "${server.origin}", token: "\${file:token}" }]`,
  );
  await cli(['api', 'secrets.keys.list'], { cwd: folder });
  await server.close();
  expect(seen).toEqual(['a-token-of-a-file']);
});

describe('a reference to what is not a small regular file is refused at once', () => {
  const makers: Readonly<Record<string, (file: string) => unknown>> = {
    'a pipe that nobody writes to': (file) => execFileSync('mkfifo', [file]),
    'a device without an end': (file) => symlink('/dev/zero', file),
    'a folder': (file) => mkdir(file),
    'a file of 2 MiB': (file) => writeFile(file, 'a'.repeat(2 << 20)),
    'a link to itself': (file) => symlink(file, file),
  };

  test.each(Object.keys(makers))('%s', async (name) => {
    const folder = await project(`\${file:secret}`);
    await makers[name]?.(join(folder, 'secret'));
    expect(await refused(folder)).toMatch(/\$\{file:secret\}: the file cannot be read: /u);
  });

  test.each(Object.keys(makers))('%s as .env, as certificates and as the token of serve', async (name) => {
    const place = await tempFolder();
    await makers[name]?.(join(place, '.env'));
    const target = { name: 'c', kind: 'mesh', url: 'https://127.0.0.1:9' };
    await writeFile(join(place, 'tidemark.yaml'), JSON.stringify({ targets: [target] }));
    const withEnv = await cli(['pull'], { cwd: place });
    expect([withEnv.exit, withEnv.stderr]).toEqual([2, expect.stringMatching(/\.env cannot be read: /u)]);
    if (name === 'a file of 2 MiB') return; // not too large for certificates
    const folder = await tempFolder();
    await makers[name]?.(join(folder, 'ca.pem'));
    await writeFile(join(folder, 'tidemark.yaml'), JSON.stringify({ targets: [{ ...target, caFile: 'ca.pem' }] }));
    const pull = await cli(['pull'], { cwd: folder });
    expect([pull.exit, pull.stderr]).toEqual([2, expect.stringMatching(/caFile: .*ca\.pem cannot be read: /u)]);
    const serve = await cli(['serve', '--token-file', 'ca.pem'], { cwd: folder });
    expect([serve.exit, serve.stderr]).toEqual([2, expect.stringMatching(/--token-file .*ca\.pem cannot be read: /u)]);
  });
});

test.each(['\n', '…'])('a secret parameter that a header cannot carry because of %j is not repeated', async (mark) => {
  const target = createTarget('scheduler', 'http://127.0.0.1:9', { flavor: 'hashicorp' });
  const { client } = createTestClient(target);
  const call = client.call(scheduler.snapshots.list, { plugin_id: 'p', secrets: `a=${HALVES.join(mark)}` });
  const error = await call.then(String, (thrown: unknown) => String(thrown));
  expect(error).toContain('X-Nomad-CSI-Secrets must be one line');
  for (const half of HALVES) expect(error).not.toContain(half);
  await client.close();
});

test('credentials of a bucket with a control character are refused by name', async () => {
  const folder = await project('a-token-of-nobody');
  const good = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_SESSION_TOKEN: 'c' };
  for (const name of Object.keys(good)) {
    const env = { ...good, [name]: HALVES.join('\n') };
    const { exit, stderr } = await cli(['lake', 'verify', '--lake', 's3://bucket/p'], { cwd: folder, env });
    expect([exit, stderr]).toEqual([2, expect.stringContaining(`${name} must be one line`)]);
    for (const half of HALVES) expect(stderr).not.toContain(half);
  }
});

test('what a service repeats of the heartbeat of a job, doctor and pull mask', async () => {
  const secret = 'heartbeat-5f0c1e88';
  const place = await testProject({
    workspaces: 5,
    faultHook: ({ path }, service) =>
      path === '/v1/acl/policies' ? service.error(403, `no such check: ${secret}`) : undefined,
  });
  await mkdir(join(place.folder, 'jobs'), { recursive: true });
  await writeFile(join(place.folder, 'jobs/mine.yaml'), `heartbeat: "https://hc.example/ping/\${CHECK}"\n`);
  await writeFile(join(place.folder, '.env'), `CHECK=${secret}\n`);
  for (const words of [['doctor'], ['pull', '--source', 'acl_policies'], ['sql', '--json', 'from pulls']]) {
    const { stdout, stderr } = await place.tidemark(words);
    expect(stdout + stderr).not.toContain(secret);
    expect(stdout + stderr).toContain('***');
  }
});
