import { createHash } from 'node:crypto';
import { appendFileSync, existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { RunningSandbox, SandboxChange, StartOptions } from '../../sandbox/index.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { readNamedFile, writeFileAtomic } from '../core/fs.ts';

export type { FaultHook, StartOptions } from '../../sandbox/index.ts';

/** The services on the loopback interface. Commands without them never load it. */
export const loadSandbox = () => import('../../sandbox/index.ts');

/** Beside the configuration: what the services of a demo are started with, then the changes that commands made to them, a line each. */
const STATE_FILE = 'sandbox.ndjson';
/** Ports from here, below those that systems give to clients. */
const FIRST_PORT = 20_000;
/** The services take a group of consecutive ports. */
const PORTS = 6;
const GROUPS = 2000;
/** The next groups are tried if another program has a port. */
const MAX_TRIES = 20;
/** Advertised in the sandbox's headers, so the rate limiter starts at full speed. */
const REQUESTS_PER_SECOND = 1000;

type DemoState = Pick<StartOptions, 'workspaces'> & { readonly start: string; readonly port: number };

/** Commands that call the services. */
const CALLING = new Set(['pull', 'run', 'schedule', 'doctor', 'playbook', 'api', 'permissions']);

/** Starts the services of a demo on ports that are free, and keeps what is needed to start them again. */
export async function startDemoServices(
  folder: string,
  { start, workspaces, faultHook }: Pick<StartOptions, 'workspaces' | 'faultHook'> & { readonly start: Date },
): Promise<RunningSandbox> {
  for (let port = chooseFirstPort(folder), tries = 1; ; port += PORTS, tries++) {
    const state: DemoState = { start: start.toISOString(), port, workspaces };
    try {
      const sandbox = await startServices(state, { faultHook });
      await writeFile(join(folder, STATE_FILE), `${JSON.stringify(state)}\n`);
      return sandbox;
    } catch (error) {
      if (!isPortTaken(error) || tries === MAX_TRIES) throw error;
    }
  }
}

/** The services are on this machine, where no proxy leads. */
export function withoutProxy<T extends Pick<Context, 'env'>>(context: T): T {
  return { ...context, env: { ...context.env, NO_PROXY: '*' } };
}

async function startServices({ start, ...state }: DemoState, options: StartOptions): Promise<RunningSandbox> {
  const { startSandbox } = await loadSandbox();
  const flavor = 'hashicorp'; // with names that a company has
  return startSandbox({ ...state, ...options, start: new Date(start), flavor, rate: REQUESTS_PER_SECOND });
}

/** Each folder has ports of its own: a command must not reach the services of another demo, which may run at the same time. */
export function chooseFirstPort(folder: string): number {
  const group = createHash('sha256').update(resolve(folder)).digest().readUInt32BE() % GROUPS;
  return FIRST_PORT + group * PORTS;
}

/**
 * Starts the services of a demo again for a command that calls them: in the state that they have by now, with all changes that earlier
 * commands made. Returns what stops them; undefined for another configuration, and where another command of the demo serves them now, or
 * another program has a port.
 */
export async function resumeDemo(context: Context, command: string): Promise<(() => Promise<void>) | undefined> {
  const file = join(dirname(resolve(context.cwd, context.configFile)), STATE_FILE);
  if (!CALLING.has(command) || !existsSync(file)) return undefined;
  const clock = () => context.clock.now();
  const onChange = (change: SandboxChange) => appendFileSync(file, `${JSON.stringify(change)}\n`);
  const sandbox = await startServices(readState(file).state, { clock, onChange }).catch((error: unknown) => {
    if (!isPortTaken(error)) throw error;
    const { port } = error as { readonly port?: number };
    context.log.info(`port ${port} of the demo is in use, by another command of it or by another program`);
  });
  if (!sandbox) return undefined;
  try {
    const { text, changes } = readState(file); // only who has the ports writes to it
    await writeFileAtomic(file, text);
    for (const change of changes) sandbox.repeat(change);
    sandbox.advanceTo(clock());
    return () => sandbox.close();
  } catch (error) {
    await sandbox.close();
    throw error;
  }
}

/** What a command had written of a line when it was killed is left out. */
function readState(file: string) {
  const text = readNamedFile(file).replace(/.+$/u, '');
  try {
    const [state, ...changes] = text.match(/.+/gu)?.map((line) => JSON.parse(line) as object) ?? [];
    return { text, state: state as DemoState, changes: changes as SandboxChange[] };
  } catch (cause) {
    throw new TidemarkError('DATA', `${file} is damaged`, { cause, hint: 'make the demo again with `tidemark demo`' });
  }
}

function isPortTaken(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
}
