import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';

const LINKED = ['queries', 'reports', 'jobs', 'templates', 'node_modules', 'package.json'];

/** The package built from the current sources in a folder of its own, independent of other builds. */
export async function buildPackage(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'tidemark-built-'));
  afterAll(() => rm(root, { recursive: true, force: true }));
  await mkdir(join(root, 'bin'));
  await cp(join(PACKAGE_ROOT, 'bin', 'tidemark.js'), join(root, 'bin', 'tidemark.js'));
  for (const name of LINKED) await symlink(join(PACKAGE_ROOT, name), join(root, name));
  const compiler = join(PACKAGE_ROOT, 'node_modules', '.bin', 'tsc');
  const project = join(PACKAGE_ROOT, 'tsconfig.build.json');
  const built = spawnSync(compiler, ['-p', project, '--outDir', join(root, 'dist')], { encoding: 'utf8' });
  if (built.status !== 0) throw new Error(`the build failed:\n${built.stdout}${built.stderr}`);
  return join(root, 'bin', 'tidemark.js');
}

export interface Ended {
  /** Null if a signal ended it. */
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly afterMs: number;
}

export interface Child {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
}

/** Runs the built command in a process of its own. */
export function start(command: string, words: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Child {
  const startedMs = performance.now();
  const child = spawn(process.execPath, [command, ...words], { cwd, env: { PATH: process.env.PATH, ...env } });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (exit) => resolve({ exit, stdout, stderr, afterMs: performance.now() - startedMs }));
  });
  return { process: child, ended };
}
