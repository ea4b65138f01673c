import { Worker } from 'node:worker_threads';
import pLimit from 'p-limit';
import { z } from 'zod';
import type { Playbook } from '../../act/define.ts';
import { formatSeconds } from '../../core/clock.ts';
import { errorMessage, TidemarkError } from '../../core/errors.ts';
import type { ExtractContext, SourceDefinition } from '../../extract/sources/source.ts';
import type { ServiceClient } from '../../services/client.ts';
import { operations } from '../../services/index.ts';
import type { Operation, QueryPairs } from '../../services/operation.ts';
import type { ServiceResponse } from '../../services/response.ts';
import { Bridge } from './bridge.ts';

/** A source without its functions. */
export interface SourceInfo extends Pick<SourceDefinition, 'name' | 'kind' | 'flavor' | 'operations' | 'unchanged'> {
  /** How many; undefined where the source declares none. */
  readonly fallbacks: number | undefined;
}

/** What a thread says of its plugin; undefined stands for what the plugin does not declare. Playbooks are without their functions. */
export interface PluginInfo {
  readonly sources: readonly SourceInfo[] | undefined;
  readonly playbooks: readonly Playbook[] | undefined;
}

/** What a thread is asked to do. It loads the plugin first. `source` is the place of a source in the plugin. */
export type Task =
  | { readonly kind: 'describe' }
  | {
      readonly kind: 'extract';
      readonly source: number;
      readonly fallback: number | undefined;
      readonly context: RemoteContext;
    }
  | {
      readonly kind: 'check';
      readonly source: number;
      readonly client: RemoteClient;
      readonly onUnknown: Parameters<SourceDefinition['checkAccess']>[1];
    };

/** A client as it crosses: pages are read one by one, and `next` has undefined after the last one. */
export interface RemoteClient extends Pick<ServiceClient, 'target' | 'call' | 'download'> {
  readonly openPages: (
    ...args: Parameters<ServiceClient['pages']>
  ) => Promise<{ readonly next: () => Promise<unknown>; readonly close: () => Promise<void> }>;
}

/** What an extraction has, as it crosses: every function is asynchronous. */
export interface RemoteContext extends Omit<ExtractContext, 'client' | 'signal' | 'forEachLimited'> {
  readonly client: RemoteClient;
  readonly concurrency: number;
}

/** Threads at the same time. Each has its own copy of the plugin and of the package. */
const MAX_THREADS = 4;
const MEMORY_MIB = 512;
/** A thread that computes so long without a pause is taken to have no end. */
const MAX_SILENCE_MS = 60_000;

const threads = pLimit(MAX_THREADS);

/**
 * Runs one task of a plugin in a thread of its own, which ends with it. A fault of the plugin fails the task: an end of the thread, an
 * error that nothing catches, too much memory, or silence.
 */
export function runPlugin(
  file: string,
  task: Task,
  signal?: AbortSignal,
  maxSilenceMs = MAX_SILENCE_MS,
): Promise<unknown> {
  return threads(async () => {
    signal?.throwIfAborted();
    const { WORKER_FILE } = await import('./worker-file.ts');
    const worker = new Worker(WORKER_FILE, {
      workerData: file,
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB },
    });
    const bridge = new Bridge(worker, async () => undefined);
    const ended = new Promise<never>((_, reject) => watch(worker, reject, signal, maxSilenceMs));
    try {
      return await Promise.race([bridge.main(task), ended]);
    } finally {
      await worker.terminate();
      await bridge.close(fault('has ended'));
    }
  });
}

function watch(
  worker: Worker,
  fail: (error: unknown) => void,
  signal: AbortSignal | undefined,
  maxSilenceMs: number,
): void {
  const abort = () => fail(signal?.reason);
  const tooLong = () => fail(fault(`computes for ${formatSeconds(maxSilenceMs / 1000)} without a pause`));
  let timer = setTimeout(tooLong, maxSilenceMs);
  worker.on('message', () => {
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
export function toRemoteSources(file: string, { sources = [] }: PluginInfo): readonly SourceDefinition[] {
  return sources.map((info, source) => toRemoteSource(file, info, source));
}

function toRemoteSource(file: string, info: SourceInfo, source: number): SourceDefinition {
  const { fallbacks, ...rest } = info;
  const extract = (fallback?: number) => async (context: ExtractContext) => {
    await runPlugin(file, { kind: 'extract', source, fallback, context: toRemoteContext(context) }, context.signal);
  };
  return {
    ...rest,
    ...(fallbacks !== undefined && { fallbacks: Array.from({ length: fallbacks }, (_, index) => extract(index)) }),
    extract: extract(),
    checkAccess: async (client, onUnknown) => {
      const task = { kind: 'check', source, client: toRemoteClient(client), onUnknown } as const;
      return (await runPlugin(file, task)) as ServiceResponse | undefined;
    },
  };
}

function toRemoteContext({ signal: _, forEachLimited: __, ...context }: ExtractContext): RemoteContext {
  const { client, landing, log, metrics } = context;
  return {
    ...context,
    client: toRemoteClient(client),
    landing: bindMethods(landing),
    log: { info: log.info, warn: log.warn, error: log.error },
    metrics: { ...metrics },
    concurrency: client.target.limits.concurrency * 2,
  };
}

/** The methods of an object of a class, as functions of a plain one. */
function bindMethods<T extends object>(instance: T): T {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(instance)).filter((name) => name !== 'constructor');
  const methods = names.flatMap((name) => {
    const method: unknown = Reflect.get(instance, name);
    return typeof method === 'function' ? [[name, method.bind(instance) as unknown] as const] : [];
  });
  return Object.fromEntries(methods) as T;
}

function toRemoteClient(client: ServiceClient): RemoteClient {
  return {
    target: client.target,
    call: (operation, args, options) => client.call(toOperation(operation), args as never, options),
    download: (operation, args, to, options) => client.download(toOperation(operation), args as never, to, options),
    openPages: async (operation, args, options) => {
      const pages = client.pages(toOperation(operation), args as never, options);
      return {
        next: async () => (await pages.next()).value,
        close: async () => void (await pages.return(undefined)),
      };
    },
  };
}

/** What a plugin's operation had computed in its thread. */
interface Encoded {
  readonly encoded?: { readonly handled: readonly string[]; readonly pairs: QueryPairs };
}

function toOperation(crossed: Operation & Encoded): Operation {
  const own = operations.get(crossed.name);
  if (own) return own;
  const { encoded, body, ...operation } = crossed;
  return {
    ...operation,
    ...(body && { body: { ...body, schema: z.unknown() } }), // checked in the thread
    ...(encoded && {
      queryEncoder: { handles: (name) => encoded.handled.includes(name), encode: () => encoded.pairs },
    }),
  };
}

/** @throws TidemarkError CONFIG that names the field and the file */
export async function describePlugin(file: string, field: string): Promise<PluginInfo> {
  try {
    return (await runPlugin(file, { kind: 'describe' })) as PluginInfo;
  } catch (cause) {
    if (!(cause instanceof TidemarkError)) throw cause;
    const what = cause.code === 'CONFIG' ? cause.message : `cannot be loaded: ${cause.message}`;
    throw new TidemarkError('CONFIG', `${field}: ${file} ${what}`, { cause, ...(cause.hint && { hint: cause.hint }) });
  }
}
