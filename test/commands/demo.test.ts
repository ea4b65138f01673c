import { once } from 'node:events';
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { chooseFirstPort, startDemoServices } from '../../src/cli/demo-services.ts';
import { cli } from '../helpers/cli.ts';
import { tempFolder } from '../helpers/temp.ts';

test('demos in two folders have services of their own, always on the same ports', () => {
  const folders = ['/home/a/demo', '/home/b/demo', '/srv/demo'];
  const ports = folders.map(chooseFirstPort);
  expect(new Set(ports.map((port) => Math.floor((port - 20_000) / 6))).size).toBe(folders.length);
  expect(folders.map(chooseFirstPort)).toEqual(ports);
  for (const port of ports) expect([port >= 20_000, port < 32_768, (port - 20_000) % 6]).toEqual([true, true, 0]);
});

test('a folder named demo that no demo made is left alone', async () => {
  const cwd = await tempFolder(onTestFinished);
  await mkdir(join(cwd, 'demo'));
  await writeFile(join(cwd, 'demo', 'mine.txt'), 'precious');
  expect(await cli(['demo'], { cwd })).toMatchObject({
    exit: 6,
    stderr: expect.stringContaining('was not made by a demo'),
  });
  expect(await readFile(join(cwd, 'demo', 'mine.txt'), 'utf8')).toBe('precious');
});

test('what a killed command wrote of a change is removed, and a damaged state of a demo is named', async () => {
  const cwd = await tempFolder(onTestFinished);
  const sandbox = await startDemoServices(cwd, { start: new Date(), workspaces: 10 });
  await writeFile(join(cwd, 'tidemark.yaml'), sandbox.config());
  await sandbox.close();
  const state = join(cwd, 'sandbox.ndjson');
  const whole = await readFile(state, 'utf8');
  await appendFile(state, '{"method":"DEL');
  const words = ['api', 'registry.providers.versions', 'namespace=hashicorp', 'name=aws'];
  expect(await cli(words, { cwd })).toMatchObject({ exit: 0, stderr: '' });
  expect(await readFile(state, 'utf8')).toBe(whole);
  await appendFile(state, '{"method":"DEL\n');
  expect(await cli(words, { cwd })).toMatchObject({
    exit: 4,
    stderr: expect.stringMatching(/sandbox\.ndjson is damaged\n {2}make the demo again with `tidemark demo`\n/u),
  });
});

test('a port of a demo that another program has is named', async () => {
  const folder = await tempFolder();
  const sandbox = await startDemoServices(folder, { start: new Date('2026-10-01T02:15:00Z'), workspaces: 5 });
  const { hostname, port } = new URL(sandbox.urls.mesh);
  await writeFile(join(folder, 'tidemark.yaml'), sandbox.config());
  await sandbox.close();
  const other = createServer((_, response) => response.end()).listen(Number(port), hostname);
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const { stderr } = await cli(['api', 'platform.agents.list'], { cwd: folder });
  expect(stderr).toContain(`port ${port} of the demo is in use, by another command of it or by another program`);
});

test('the services of a demo are not asked through the proxy of a company', async () => {
  const cwd = await tempFolder(onTestFinished);
  const env = { HTTP_PROXY: 'http://127.0.0.1:9' };
  const run = await cli(['demo', '--runs', '1', '--workspaces', '10'], { cwd, env });
  expect(run.exit, run.stderr).toBe(0);
  const words = ['api', 'registry.providers.versions', 'namespace=hashicorp', 'name=aws'];
  expect(await cli(words, { cwd: join(cwd, 'demo'), env })).toMatchObject({ exit: 0, stderr: '' });
});
