import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import type { Playbook } from '../../act/define.ts';
import { TARGET_KINDS } from '../../config/schema.ts';
import { errorMessage, TidemarkError } from '../../core/errors.ts';
import { forEachLimited } from '../../extract/for-each-limited.ts';
import type { ExtractContext, ListedObject, ObjectList, SourceDefinition } from '../../extract/sources/source.ts';
import type { ServiceClient } from '../../services/client.ts';
import { operations } from '../../services/index.ts';
import type { Operation } from '../../services/operation.ts';
import { ALIVE, createBridge, isPlain, mapPlain, markOperation } from './bridge.ts';
import type { RemoteContext, ThreadPlugin, ThreadSource } from './remote.ts';

/**
 * The program of a thread that runs a plugin. What goes wrong in it ends the thread: it has no warehouse, no connection and no file of
 * the landing open.
 */

const ALIVE_MS = 1_000;
// What a plugin prints is not the result of the command.
if (parentPort) process.stdout.write = process.stderr.write.bind(process.stderr);
if (parentPort) createBridge(parentPort, async () => describe((await load(String(workerData))).default));

async function load(file: string): Promise<{ readonly default?: unknown }> {
  try {
    const loaded = (await import(pathToFileURL(file).href)) as { readonly default?: unknown };
    // A thread that computes without an end cannot send it, and one that waits for ever in its file does not come here.
    setInterval(() => parentPort?.postMessage(ALIVE), ALIVE_MS);
    return loaded;
  } catch (cause) {
    const { code } = Object(cause) as { readonly code?: unknown };
    if (code !== 'ERR_UNKNOWN_FILE_EXTENSION' || !/\.[cm]?ts$/u.test(file)) {
      throw new TidemarkError('CONFIG', `cannot be loaded: ${errorMessage(cause)}`, { cause });
    }
    // until Node 22: 22.18 runs TypeScript
    throw new TidemarkError('CONFIG', 'is TypeScript, which this version of Node cannot run', {
      cause,
      hint: 'use Node 22.18 or newer, or compile the plugin to JavaScript',
    });
  }
}

/** @throws TidemarkError CONFIG that ends a sentence about the file */
function describe(plugin: unknown): ThreadPlugin {
  const { sources, playbooks } = Object(plugin) as Readonly<Record<string, unknown>>;
  const lists = [sources, playbooks].filter((list) => list !== undefined);
  if (lists.length === 0 || !lists.every(Array.isArray)) {
    throw new TidemarkError('CONFIG', 'has no default export with `sources` or `playbooks`', {
      hint: 'write `export default definePlugin({ sources: […], playbooks: […] })`',
    });
  }
  return {
    sources: (sources as readonly unknown[] | undefined)?.map(describeSource),
    playbooks: (playbooks as readonly unknown[] | undefined)?.map(describePlaybook),
  };
}

function describeSource(given: unknown, index: number): ThreadSource {
  const source = Object(given) as SourceDefinition;
  const { name, kind, flavor, operations: called, unchanged, fallbacks } = source;
  const kinds = [kind].flat();
  const isSource =
    kinds.length > 0 &&
    kinds.every((one) => TARGET_KINDS.includes(one)) &&
    [source.extract, source.checkAccess].every((one) => typeof one === 'function');
  if (typeof name !== 'string' || !isSource) {
    const problem = `sources[${index}] is not a source: it needs name, kind (${TARGET_KINDS.join(', ')}), extract and checkAccess`;
    throw new TidemarkError('CONFIG', problem);
  }
  const declared = { name, kind, ...(flavor && { flavor }), operations: called, unchanged };
  const run = (strategy: SourceDefinition['extract']) => (context: RemoteContext) =>
    strategy(toContext(context, source));
  return {
    ...(withoutFunctions(declared) as ThreadSource),
    extract: run(source.extract),
    fallbacks: fallbacks?.map(run),
    checkAccess: (client, onUnknown) => source.checkAccess(toClient(client), onUnknown),
  };
}

function describePlaybook(playbook: unknown, index: number): Playbook {
  const { name, actions, plan } = Object(playbook) as Playbook;
  const isPlaybook = typeof name === 'string' && Array.isArray(actions) && typeof plan === 'function';
  if (isPlaybook) return withoutFunctions(playbook) as Playbook;
  throw new TidemarkError('CONFIG', `playbooks[${index}] is not what \`definePlaybook\` returns`);
}

/** What can be copied of a value: no function, and no object of a class, such as a schema. */
function withoutFunctions(value: unknown): unknown {
  if (typeof value === 'function') return undefined;
  const isCopied = isPlain(value) || Array.isArray(value) || value instanceof RegExp || Object(value) !== value;
  return isCopied ? mapPlain(value, withoutFunctions) : undefined;
}

function toContext(remote: RemoteContext, source: SourceDefinition): ExtractContext {
  const { concurrency, ...shared } = remote;
  return {
    ...shared,
    client: toClient(remote.client),
    objects: (list) => remote.objects(markChangeable(list, source)),
    forEachLimited: (items, work) => forEachLimited(items, work, concurrency, new AbortController()),
  } as ExtractContext;
}

/** Nothing proves that an object is unchanged of which a part is undefined: the source says so of each here, where its functions are. */
function markChangeable(list: ObjectList, { unchanged }: SourceDefinition): ObjectList {
  const mark = (object: ListedObject) =>
    unchanged?.unless?.(object.item) ? { ...object, parts: [undefined] } : object;
  return { ...list, objects: list.objects.map(mark) };
}

function toClient({ target, call, download, pages }: ServiceClient): ServiceClient {
  return {
    target,
    call: async (operation, args, options = {}) => call(toOperation(operation), args, toData(options)),
    download: async (operation, args, file, options = {}) =>
      download(toOperation(operation), args, file, toData(options)),
    async *pages(operation, args, options = {}) {
      yield* await pages(toOperation(operation), args, toData(options)); // a call of the other side is a promise
    },
    close: async () => {},
  };
}

function toOperation<O extends Operation>(operation: O): O {
  return markOperation(operations.has(operation.name) ? operation.name : toData(operation)) as O;
}

/**
 * An operation, or options of a request, as they cross: metrics and a signal belong to the other side.
 * @throws TidemarkError USAGE for a function, which is asked in the middle of a request and stays here
 */
function toData<T extends object>(given: T): T {
  const refused = Object.keys(given).find((name) => hasFunction(Reflect.get(given, name)));
  if (refused !== undefined)
    throw new TidemarkError('USAGE', `a request of a plugin cannot have the function ${refused}`);
  return withoutFunctions({ ...given, metrics: undefined }) as T;
}

function hasFunction(value: unknown): boolean {
  return typeof value === 'function' || (isPlain(value) && Object.values(value).some(hasFunction));
}
