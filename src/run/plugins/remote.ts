import { Worker } from 'node:worker_threads';
import pLimit from 'p-limit';
import type { Playbook } from '../../act/define.ts';
import { formatSeconds } from '../../core/clock.ts';
import { errorMessage, TidemarkError } from '../../core/errors.ts';
import type { ExtractContext, OnUnknown, SourceDefinition } from '../../extract/sources/source.ts';
import type { ServiceClient } from '../../services/client.ts';
import { createBridge } from './bridge.ts';

/** What a thread knows of a source. Calls of its functions are answered in the thread, as long as it runs. */
export interface ThreadSource extends Pick<SourceDefinition, 'name' | 'kind' | 'flavor' | 'operations' | 'unchanged'> {
  readonly extract: (context: RemoteContext) => Promise<void>;
  /** Undefined where the source declares none. */
  readonly fallbacks: readonly ThreadSource['extract'][] | undefined;
  readonly checkAccess: (client: ServiceClient, onUnknown: OnUnknown) => ReturnType<SourceDefinition['checkAccess']>;
}

/** A plugin in a thread; undefined stands for what it does not declare. Playbooks are without their functions. */
export interface ThreadPlugin {
  readonly sources: readonly ThreadSource[] | undefined;
  readonly playbooks: readonly Playbook[] | undefined;
}

/** What an extraction has, as it crosses: every function is asynchronous. */
export type RemoteContext = Readonly<ReturnType<typeof toRemoteContext>>;

/** Threads at the same time. Each has its own copy of the plugin and of the package. */
const MAX_THREADS = 4;
const MEMORY_MIB = 512;
/** A thread that computes so long without a pause is taken to have no end, and so is one whose file is not loaded by then. */
const MAX_SILENCE_MS = 60_000;

const threads = pLimit(MAX_THREADS);

/**
 * Loads a plugin in a thread of its own, which ends with the task. A fault of the plugin fails the task: an end of the thread, an
 * error that nothing catches, too much memory, or silence.
 */
export function runPlugin<T>(
  file: string,
  task: (plugin: ThreadPlugin) => Promise<T>,
  signal?: AbortSignal,
  maxSilenceMs = MAX_SILENCE_MS,
): Promise<T> {
  return threads(async () => {
    signal?.throwIfAborted();
    const { WORKER_FILE } = await import('./worker-file.ts');
    const worker = new Worker(WORKER_FILE, {
      workerData: file,
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB },
    });
    const bridge = createBridge(worker, async () => undefined);
    const ended = new Promise<never>((_, reject) => watch(worker, reject, signal, maxSilenceMs));
    const work = async () => task((await bridge.main()) as ThreadPlugin);
    try {
      return await Promise.race([work(), ended]);
    } finally {
      await worker.terminate();
      await bridge.close(fault('has ended'));
    }
  });
}

function watch(worker: Worker, fail: (error: unknown) => void, signal: AbortSignal | undefined, maxSilenceMs: number) {
  const abort = () => fail(signal?.reason);
  const limit = formatSeconds(maxSilenceMs);
  const tooLong = () =>
    fail(fault(isLoaded ? `computes for ${limit} without a pause` : `is not loaded after ${limit}`));
  let isLoaded = false;
  let timer = setTimeout(tooLong, maxSilenceMs);
  worker.on('message', () => {
    isLoaded = true;
    clearTimeout(timer);
    timer = setTimeout(tooLong, maxSilenceMs);
  });
  worker.on('error', (error) => fail(fault(`failed outside of its calls: ${errorMessage(error)}`)));
  worker.on('exit', (code) => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    fail(fault(`ended its thread with code ${code}`));
  });
  signal?.addEventListener('abort', abort, { once: true });
}

function fault(what: string): TidemarkError {
  return new TidemarkError('INCOMPLETE', `the plugin ${what}`);
}

/** The sources of a plugin, whose functions run in threads. */
export function toRemoteSources(file: string, { sources = [] }: ThreadPlugin): readonly SourceDefinition[] {
  return sources.map(({ extract: _, fallbacks, checkAccess: __, ...declared }, index) => {
    const find = (plugin: ThreadPlugin): ThreadSource => {
      const source = plugin.sources?.[index];
      if (source) return source;
      throw new TidemarkError('DATA', 'the plugin has another number of sources than before');
    };
    const extract =
      (choose: (source: ThreadSource) => ThreadSource['extract'] | undefined) => (context: ExtractContext) =>
        runPlugin(file, async (plugin) => choose(find(plugin))?.(toRemoteContext(context)), context.signal);
    return {
      ...declared,
      ...(fallbacks && { fallbacks: fallbacks.map((_, place) => extract((source) => source.fallbacks?.[place])) }),
      extract: extract((source) => source.extract),
      checkAccess: (client, onUnknown) => runPlugin(file, (plugin) => find(plugin).checkAccess(client, onUnknown)),
    };
  });
}

function toRemoteContext({ signal: _, forEachLimited: __, ...context }: ExtractContext) {
  return { ...context, concurrency: context.client.target.limits.concurrency * 2 };
}

/** @throws TidemarkError CONFIG that names the field and the file */
export async function describePlugin(file: string, field: string): Promise<ThreadPlugin> {
  try {
    return await runPlugin(file, async (plugin) => plugin);
  } catch (cause) {
    if (!(cause instanceof TidemarkError)) throw cause;
    const what = cause.code === 'CONFIG' ? cause.message : `cannot be loaded: ${cause.message}`;
    throw new TidemarkError('CONFIG', `${field}: ${file} ${what}`, { cause, hint: cause.hint });
  }
}
