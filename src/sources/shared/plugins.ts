import { type FailureKind, ServiceError } from '../../http/errors.ts';
import type { ServiceClient } from '../../services/client.ts';
import type { Operation } from '../../services/operation.ts';
import { listItems, type ResponsePage, type ServiceResponse } from '../../services/response.ts';
import { listPlugins } from '../../services/scheduler/bodies.ts';
import { scheduler } from '../../services/scheduler/operations.ts';
import { type ExtractContext, listIndex, optionalString, requiredString } from '../source.ts';
import { checkListAndRead } from './list-and-read.ts';

export interface ListedVolume {
  readonly id: string;
  readonly namespace: string | undefined;
  readonly plugin: string | undefined;
  readonly item: unknown;
}

interface VolumeList {
  /** JSON texts of the pages. */
  readonly pages: readonly string[];
  readonly volumes: readonly ListedVolume[];
  /** `listIndex` of the pages. */
  readonly index: string | undefined;
}

export async function fetchVolumes({ client }: ExtractContext): Promise<VolumeList> {
  const pages: ResponsePage[] = [];
  const volumes: ListedVolume[] = [];
  for await (const page of client.pages(scheduler.volumes.list, { type: 'csi' })) {
    pages.push(page);
    for (const item of page.items) {
      volumes.push(parseListedVolume(item, requiredString(item, 'ID', 'volumes', volumes.length)));
    }
  }
  return { pages: pages.map(({ text }) => text), volumes, index: listIndex(pages) };
}

export function parseListedVolume(item: unknown, id: string): ListedVolume {
  return { id, namespace: optionalString(item, 'Namespace'), plugin: optionalString(item, 'PluginID'), item };
}

/** The list of volumes, which three sources need. */
export function fetchVolumesOnce(context: ExtractContext): Promise<VolumeList> {
  return context.once('volumes', () => fetchVolumes(context));
}

/**
 * Lists what each storage plugin has, and writes the pages. The failure of a plugin is written instead: what it has is then unknown.
 * In the API documents a plugin ID is a prefix, so that a listing may contain what belongs to a plugin with a longer ID; the load
 * query assigns each item to its plugin (docs/services/scheduler.md#prefixes).
 */
export async function extractByPlugin(context: ExtractContext, operation: Operation): Promise<void> {
  const { client } = context;
  const match = client.target.flavor === 'hashicorp' ? 'exact' : 'prefix';
  const failures: ServiceError[] = [];
  let listed = 0;
  const plugins = await fetchPlugins(context);
  await context.forEachLimited(plugins, async (plugin) => {
    const failure = await landPages(context, operation, { plugin_id: plugin }, { plugin_id: plugin, match });
    if (failure === undefined) listed++;
    else if (!isUnsupported(failure)) failures.push(failure);
  });
  const [first] = failures;
  if (first && listed === 0) throw first; // not one plugin answers: the cause is the service
  if (match === 'prefix' && !operation.params.plugin_id?.required) await landUnnamed(context, operation);
}

/** Writes the pages of a list, or its failure if that says something about the plugin alone. @returns the failure */
async function landPages(
  { client, landing }: ExtractContext,
  operation: Operation,
  args: Readonly<Record<string, string>>,
  fields: Readonly<Record<string, string | null>>,
): Promise<ServiceError | undefined> {
  const pages: string[] = [];
  try {
    for await (const page of client.pages(operation, args)) pages.push(page.text);
  } catch (error) {
    if (!isPluginFailure(error)) throw error;
    await landing.writeJson({ ...fields, error: error.serviceMessage });
    if (!isUnsupported(error)) landing.addNote(`plugin ${fields.plugin_id} is unknown: ${error.serviceMessage}`);
    return error;
  }
  for (const page of pages) await landing.writeJson(fields, page);
  return undefined;
}

/** Lists without a plugin, which finds the volumes of plugins that no registered volume names. */
async function landUnnamed({ client, landing }: ExtractContext, operation: Operation): Promise<void> {
  const pages: string[] = [];
  try {
    for await (const page of client.pages(operation, {})) pages.push(page.text);
  } catch (error) {
    if (!isPluginFailure(error)) throw error;
    await landing.writeJson({ plugin_id: null, match: 'prefix', error: error.serviceMessage });
    landing.addNote(`plugins that no registered volume names are unknown: ${error.serviceMessage}`);
    return;
  }
  for (const page of pages) await landing.writeJson({ plugin_id: null, match: 'prefix' }, page);
}

/** The IDs of all plugins that are known: of registered volumes, and those that the real product lists. */
async function fetchPlugins(context: ExtractContext): Promise<readonly string[]> {
  const { volumes } = await fetchVolumesOnce(context);
  const registered = volumes.flatMap(({ plugin }) => plugin ?? []);
  const running = await fetchRunningPlugins(context);
  return [...new Set([...registered, ...running])].sort();
}

async function fetchRunningPlugins(context: ExtractContext): Promise<readonly string[]> {
  const plugins = await fetchPluginItems(context);
  if (Array.isArray(plugins)) return plugins.flatMap((item) => optionalString(item, 'ID') ?? []);
  context.landing.addNote(`plugins that no registered volume names are unknown: ${(plugins as ServiceError).message}`);
  return [];
}

/** The items of the list of plugins, which only the real product has; or why it does not show them. */
async function fetchPluginItems({ client, once }: ExtractContext): Promise<readonly unknown[] | ServiceError> {
  if (client.target.flavor !== 'hashicorp') return [];
  try {
    const response = await once('plugins', () => client.call(listPlugins, { type: 'csi' }));
    return listItems(listPlugins, response);
  } catch (error) {
    if (!(error instanceof ServiceError) || !['not-found', 'forbidden', 'invalid'].includes(error.failure)) throw error;
    return error;
  }
}

/**
 * What a read of a volume takes from its plugin, such as the version, has the plugin's index and not the volume's. Without
 * `flavor: hashicorp` there is no list of plugins.
 * @returns the item of a volume's plugin; undefined where the service does not show it
 */
export async function createPluginLookup(
  context: ExtractContext,
): Promise<(volume: ListedVolume) => readonly unknown[]> {
  if (context.client.target.flavor !== 'hashicorp') return () => [];
  const plugins = await fetchPluginItems(context);
  const byId = new Map(Array.isArray(plugins) ? plugins.map((item) => [optionalString(item, 'ID'), item]) : []);
  return ({ plugin }) => [plugin === undefined ? undefined : byId.get(plugin)];
}

/** Lists volumes, then what the plugin of the first one has. */
export function checkPluginAccess(client: ServiceClient, operation: Operation): Promise<ServiceResponse> {
  return checkListAndRead(client, scheduler.volumes.list, { type: 'csi' }, async (volume) => {
    const pluginId = optionalString(volume, 'PluginID');
    if (pluginId === undefined) return undefined;
    try {
      const size = client.target.flavor === 'hashicorp' ? {} : { per_page: 1 };
      return await client.call(operation, { plugin_id: pluginId, ...size });
    } catch (error) {
      if (!isPluginFailure(error)) throw error;
      return undefined;
    }
  });
}

/** Failures that one plugin can cause. A refused token, a rate limit or a broken network concern all of them. */
const PLUGIN_FAILURES: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'invalid',
  'not-found',
  'server',
  'conflict',
  'in-use',
  'malformed',
  'too-large',
]);

function isPluginFailure(error: unknown): error is ServiceError {
  return error instanceof ServiceError && PLUGIN_FAILURES.has(error.failure);
}

/** Whether the plugin cannot list, or does not exist: docs/services/scheduler.md#external-volumes. */
function isUnsupported(error: ServiceError): boolean {
  return /no such plugin|not (?:support|implement)|unsupported|unimplemented|\bLIST_(?:VOLUMES|SNAPSHOTS)\b/iu.test(
    error.serviceMessage,
  );
}
