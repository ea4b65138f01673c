import { type ChildProcess, fork, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { PACKAGE_ROOT } from '../src/core/paths.ts';

/** Resources used by one process, from its start to its end. */
export interface Usage {
  readonly wallMs: number;
  readonly cpuMs: number;
  /** Peak resident set. */
  readonly peakMiB: number;
}

export const TIDEMARK = join(PACKAGE_ROOT, 'bin', 'tidemark.js');
const script = (name: string) => join(PACKAGE_ROOT, 'bench', name);

/** Runs a script with Node in a separate process. @throws Error with its output when it fails. */
export function timed(folder: string, args: readonly string[]): Promise<Usage> {
  return timedCommand(folder, execPath, ['--import', script('usage.js'), ...args]);
}

/** Runs a command that writes its usage to the file that BENCH_USAGE names. @throws Error with its output when it fails. */
export async function timedCommand(folder: string, command: string, args: readonly string[]): Promise<Usage> {
  const usageFile = join(folder, 'usage.json');
  const startedMs = performance.now();
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...process.env, BENCH_USAGE: usageFile },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const code = await finished(child);
  const wallMs = performance.now() - startedMs;
  if (code.status !== 0) throw new Error(`${args.join(' ').slice(0, 200)} ended with ${code.status}: ${code.output}`);
  const usage = JSON.parse(await readFile(usageFile, 'utf8')) as Omit<Usage, 'wallMs'>;
  return { wallMs, ...usage };
}

export const bare = (
  folder: string,
  name: 'bare-sql' | 'bare-pages' | 'bare-query',
  args: readonly string[],
): Promise<Usage> => timed(folder, [script(`${name}.js`), ...args]);

export const bareNode = (folder: string): Promise<Usage> => timed(folder, ['-e', '0']);

async function finished(child: ChildProcess): Promise<{ status: number | null; output: string }> {
  let output = '';
  child.stdout?.on('data', (text: Buffer) => (output += text));
  child.stderr?.on('data', (text: Buffer) => (output += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, output }));
  });
}

/** A process that responds to messages: `bench/NAME.ts`. Its work is not part of the measurement. */
export interface Helper {
  ask<T>(message: unknown): Promise<T>;
  stop(): Promise<void>;
}

export function startHelper(name: string, args: readonly string[] = []): Helper {
  const child = fork(script('load.js'), [name, ...args], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    ask: (message) =>
      new Promise((resolve, reject) => {
        const onExit = (code: number | null) => reject(new Error(`bench/${name}.ts ended with ${code}`));
        child.once('exit', onExit);
        child.once('message', (response) => {
          child.off('exit', onExit);
          resolve(response as never);
        });
        child.send(message as never);
      }),
    stop: async () => {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

/** Responds to each message until the parent disconnects. */
export async function serveMessages(respond: (message: never) => Promise<unknown>): Promise<void> {
  process.on('message', (message) => {
    respond(message as never).then(
      (value) => process.send?.(value ?? null),
      (error: unknown) => {
        process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
        process.exit(1);
      },
    );
  });
  await new Promise<void>((resolve) => process.once('disconnect', () => resolve()));
}
