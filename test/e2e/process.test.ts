import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import { version } from '../../src/version.ts';
import { tempFolder } from '../helpers/temp.ts';

const BIN = join(PACKAGE_ROOT, 'bin', 'tidemark.js');

interface Process {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built command as a process of its own. `watch` sees what came so far, and may end the process. */
function tidemark(
  words: readonly string[],
  cwd: string,
  watch: (stdout: string, child: ReturnType<typeof spawn>) => void = () => {},
): Promise<Process> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [BIN, ...words], { cwd, env: { PATH: process.env.PATH ?? '' } });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
      watch(stdout, child);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

test('the built command starts, and is what `npx tidemark` finds', async () => {
  const link = join(PACKAGE_ROOT, 'node_modules', '.bin', 'tidemark');
  expect(existsSync(link)).toBe(true);
  expect(await tidemark(['--version'], await tempFolder())).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});

test('the demo leaves a warehouse and reports, says what to open, and what it says works', async () => {
  const cwd = await tempFolder();
  const { code, stdout, stderr } = await tidemark(['demo', '--runs', '2', '--workspaces', '40'], cwd);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('run 2 of 2, 2026-10-02: 20 of 20') });
  for (const file of ['demo/out/index.html', 'demo/data/warehouse.duckdb']) {
    expect(stdout).toContain(file);
    expect(existsSync(join(cwd, file)), file).toBe(true);
  }
  const shown = [...stdout.matchAll(/npx tidemark (.*)$/gmu)].map(([, line]) => line ?? '');
  expect(shown.length).toBeGreaterThan(2);
  for (const line of shown) {
    const words = [...line.matchAll(/"([^"]*)"|(\S+)/gu)].map(([, quoted, bare]) => quoted ?? bare ?? '');
    expect(await tidemark(words, cwd), line).toMatchObject({ code: 0, stderr: '' });
  }
  const index = await readFile(join(cwd, 'demo', 'out', 'index.html'), 'utf8');
  for (const report of ['drift', 'version-sprawl', 'check-failure', 'agent-health']) expect(index).toContain(report);
}, 240_000);

test('a folder named demo that is somebody else’s is left alone', async () => {
  const cwd = await tempFolder();
  await mkdir(join(cwd, 'demo'));
  await writeFile(join(cwd, 'demo', 'mine.txt'), 'precious');
  expect(await tidemark(['demo'], cwd)).toMatchObject({ code: 6, stderr: expect.stringContaining('was not made by a demo') });
  expect(await readFile(join(cwd, 'demo', 'mine.txt'), 'utf8')).toBe('precious');
});

test('the sandbox prints a configuration that works, serves until it is told to stop, and ends with 0', async () => {
  const cwd = await tempFolder();
  let pulled: Promise<Process> | undefined;
  const { code, stdout } = await tidemark(
    ['sandbox', '--workspaces', '10', '--rate', '1000'],
    cwd,
    (printed, child) => {
      if (pulled || !printed.includes('consul')) return;
      pulled = writeFile(join(cwd, 'tidemark.yaml'), printed)
        .then(() => tidemark(['pull', '--target', 'consul', '--target', 'scaler'], cwd))
        .finally(() => child.kill('SIGTERM'));
    },
  );
  expect(stdout).toContain('targets:');
  expect(await pulled).toMatchObject({ code: 0 });
  expect(code).toBe(0);
});

test('a pipe that is closed early is no failure', async () => {
  const cwd = await tempFolder();
  const { code, stderr } = await tidemark(['tables'], cwd, (_, child) => child.stdout?.destroy());
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test('SIGTERM ends a pull in time: the run is interrupted, nothing is half loaded, the lock is given back', async () => {
  const cwd = await tempFolder();
  let child: ReturnType<typeof spawn> | undefined;
  const sandbox = await startSandbox({
    workspaces: 10,
    faultHook: ({ path }) => {
      // Once: a second signal ends the process on the spot.
      if (path.endsWith('/agents') && !child?.killed) child?.kill('SIGTERM');
      return undefined;
    },
  });
  try {
    await writeFile(join(cwd, 'tidemark.yaml'), sandbox.config());
    const pull = await new Promise<Process>((resolve, reject) => {
      const started = spawn(process.execPath, [BIN, 'pull', '--json', '--target', 'acme'], { cwd });
      child = started;
      let stdout = '';
      started.stdout.on('data', (chunk: Buffer) => {
        stdout += chunk.toString();
      });
      started.on('error', reject);
      started.on('close', (code) => resolve({ code, stdout, stderr: '' }));
    });
    expect(pull.code).toBe(1);
    expect(JSON.parse(pull.stdout)).toMatchObject({ status: 'interrupted' });
    expect(existsSync(join(cwd, 'data', 'lock'))).toBe(false);
  } finally {
    await sandbox.close();
  }
});
