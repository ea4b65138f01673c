import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { PACKAGE_ROOT, version } from '../../../src/core/paths.ts';
import { buildCommand, type CommandExit, startCommand } from '../../helpers/built-command.ts';
import { tempFolder } from '../../helpers/temp.ts';

let command: string;
beforeAll(async () => {
  command = await buildCommand();
});

const run = (words: readonly string[], cwd: string): Promise<CommandExit> => startCommand(command, words, cwd).ended;

test('the built command starts, and `npx --no tidemark` finds it', async () => {
  expect(existsSync(join(PACKAGE_ROOT, 'node_modules', '.bin', 'tidemark'))).toBe(true);
  expect(await run(['--version'], await tempFolder())).toMatchObject({ exit: 0, stdout: `${version}\n`, stderr: '' });
});

test('the demo leaves a warehouse and reports, and the commands that it shows work', async () => {
  const cwd = await tempFolder();
  const { exit, stdout, stderr } = await run(['demo', '--runs', '2', '--workspaces', '40'], cwd);
  expect(exit, stderr).toBe(0);
  expect(stderr).toMatch(/run 2 of 2, 2026-10-02: (\d+) of \1/u);
  for (const file of ['demo/out/index.html', 'demo/data/warehouse.duckdb']) {
    expect(stdout).toContain(file);
    expect(existsSync(join(cwd, file)), file).toBe(true);
  }
  const shown = [...stdout.matchAll(/node \S+tidemark\.js (.*)$/gmu)].map(([, line]) => line ?? '');
  expect(shown.length).toBeGreaterThan(2);
  for (const line of shown) {
    const words = [...line.matchAll(/"([^"]*)"|(\S+)/gu)].map(([, quoted, bare]) => quoted ?? bare ?? '');
    expect(await run(words, cwd), line).toMatchObject({ exit: 0, stderr: '' });
  }
  const index = await readFile(join(cwd, 'demo', 'out', 'index.html'), 'utf8');
  for (const report of ['drift', 'version-sprawl', 'check-failure', 'agent-health']) expect(index).toContain(report);
});

test('a folder named demo that no demo made is left alone', async () => {
  const cwd = await tempFolder();
  await mkdir(join(cwd, 'demo'));
  await writeFile(join(cwd, 'demo', 'mine.txt'), 'precious');
  const refused = await run(['demo'], cwd);
  expect(refused).toMatchObject({ exit: 6, stderr: expect.stringContaining('was not made by a demo') });
  expect(await readFile(join(cwd, 'demo', 'mine.txt'), 'utf8')).toBe('precious');
});

test('the sandbox prints a configuration that works, serves until it is stopped, and exits with 0', async () => {
  const cwd = await tempFolder();
  const sandbox = startCommand(command, ['sandbox', '--workspaces', '10', '--rate', '1000'], cwd);
  const config = await new Promise<string>((resolve) => {
    let printed = '';
    sandbox.process.stdout?.on('data', (chunk) => {
      printed += chunk;
      if (printed.includes('consul')) resolve(printed);
    });
  });
  await writeFile(join(cwd, 'tidemark.yaml'), config);
  const pulled = await run(['pull', '--target', 'consul', '--target', 'scaler'], cwd);
  sandbox.process.kill('SIGTERM');
  expect(pulled.exit, pulled.stderr).toBe(0);
  expect(await sandbox.ended).toMatchObject({ exit: 0 });
});

test('a closed pipe is not a failure', async () => {
  const tables = startCommand(command, ['tables'], await tempFolder());
  tables.process.stdout?.once('data', () => tables.process.stdout?.destroy());
  expect(await tables.ended).toMatchObject({ exit: 0, stderr: '' });
});
