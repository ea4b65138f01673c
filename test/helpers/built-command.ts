import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { prepareOnce } from './prepared.ts';

const LINKED = ['queries', 'reports', 'jobs', 'templates', 'sandbox', 'node_modules', 'package.json'];

/** Builds the package once in a run of the tests, outside of `dist/`. Returns the file to run with Node. */
export async function buildCommand(): Promise<string> {
  const root = await prepareOnce('package', async (folder) => {
    await mkdir(join(folder, 'bin'));
    await cp(join(PACKAGE_ROOT, 'bin', 'tidemark.js'), join(folder, 'bin', 'tidemark.js'));
    for (const name of LINKED) await symlink(join(PACKAGE_ROOT, name), join(folder, name));
    const script = join(PACKAGE_ROOT, 'scripts', 'bundle.js');
    const built = spawnSync(process.execPath, [script, join(folder, 'dist')], { encoding: 'utf8' });
    if (built.status !== 0) throw new Error(`the build failed:\n${built.stdout}${built.stderr}`);
  });
  return join(root, 'bin', 'tidemark.js');
}

export interface CommandExit {
  /** Null if a signal ended it. */
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly afterMs: number;
}

export interface RunningCommand {
  readonly process: ChildProcess;
  readonly ended: Promise<CommandExit>;
}

/** Runs the built command in a process of its own. */
export function startCommand(
  command: string,
  words: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): RunningCommand {
  const child = spawn(process.execPath, [command, ...words], { cwd, env: { PATH: process.env.PATH, ...env } });
  return { process: child, ended: readToEnd(child) };
}

/** What a process that has just started writes, and how it ends. */
export function readToEnd(child: ChildProcessWithoutNullStreams): Promise<CommandExit> {
  const startedMs = performance.now();
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  return new Promise((resolve) => {
    child.on('close', (exit) => resolve({ exit, stdout, stderr, afterMs: performance.now() - startedMs }));
  });
}
