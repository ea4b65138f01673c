import { isDeepStrictEqual } from 'node:util';
import { textAt } from '../../../core/json-path.ts';
import { catchFailure, isRejection, lacksEndpoint, ServiceError } from '../../../http/errors.ts';
import type { UnknownPart } from '../../../landing/store.ts';
import type { ServiceClient } from '../../../services/client.ts';
import type { Operation } from '../../../services/operation.ts';
import { listItems } from '../../../services/response.ts';
import { CANNOT_LIST, listPlugins, scheduler } from '../../../services/scheduler/operations.ts';
import {
  type ExtractContext,
  type OnUnknown,
  optionalString,
  requiredString,
  type SourceDefinition,
} from '../source.ts';
import { assertServiceAnswers, describeFailure, isPartFailure, listAll, listTwice } from './list-and-read.ts';

export type ListedVolume = ReturnType<typeof parseVolume>;

export async function fetchVolumes(context: ExtractContext) {
  const { items, ...list } = await listAll(context, scheduler.volumes.list, { type: 'csi' });
  return { ...list, volumes: items.map(parseVolume) };
}

/** The volumes of the first answer, for checks of access. */
export async function callVolumes(client: ServiceClient) {
  const response = await client.call(scheduler.volumes.list, { type: 'csi' });
  return { response, volumes: listItems(scheduler.volumes.list, response).map(parseVolume) };
}

/** An item of a list, or what a read returns. @throws TidemarkError DATA where it has no ID, or what it refers to is no text */
export function parseVolume(item: unknown, row: number) {
  const id = requiredString(item, 'ID', 'volumes', row);
  const [namespace = null, plugin = null] = ['Namespace', 'PluginID', 'ExternalID'].map((field) =>
    optionalString(item, field, 'volumes', row),
  );
  return { key: namespace ? `${namespace}/${id}` : id, id, namespace, plugin, item };
}

/** What the storage providers have: of every plugin that is known, and of all others where the service lists them. */
export function pluginSource(name: string, operation: Operation): SourceDefinition {
  return {
    name,
    kind: 'scheduler',
    operations: [listPlugins, scheduler.volumes.list, operation],
    extract: (context) => extractByPlugin(context, operation),
    checkAccess: (client, onUnknown) => checkPluginAccess(client, operation, onUnknown),
  };
}

/**
 * Lists what each storage plugin has, and writes the pages. Where a plugin does not answer with a list, that is written instead: what
 * it has is then unknown, and what is loaded of it stays.
 * In the API documents a plugin ID is a prefix, so that a listing may contain what belongs to a plugin with a longer ID; the load
 * query assigns each item to its plugin (docs/services/scheduler.md#prefixes).
 */
async function extractByPlugin(context: ExtractContext, operation: Operation): Promise<void> {
  const known = await context.knownParts();
  const { volumes } = await context.once('volumes', () => fetchVolumes(context));
  const { items, refusal } = await fetchRunningPlugins(context);
  if (refusal) context.landing.addNote(`plugins that no registered volume names are unknown: ${refusal.message}`);
  const plugins = describePlugins(volumes, items, known);
  const failures = new Map<KnownPlugin, ServiceError>();
  await context.forEachLimited(plugins, async (plugin) => {
    const failure = await landPages(context, operation, plugin);
    if (failure) failures.set(plugin, failure);
  });
  const all = [...failures.values()];
  if (!all.some(isAboutPlugin)) assertServiceAnswers(plugins.length, all);
  for (const [plugin, failure] of failures) {
    const isUnsupported = await cannotList(context, failure, plugin, known.has(plugin.id));
    const isGone = failure.failure === 'not-found' && !plugin.isNamed;
    await landUnknown(context, plugin.id, failure, {
      ...(isUnsupported && { isUnsupported }),
      ...(isGone && { isGone }),
    });
  }
  const isOptional = !operation.params.plugin_id?.required;
  if (chooseMatch(context) === 'prefix' && isOptional) await landUnnamed(context, operation, known);
}

/** A plugin that is known, and what shows whether it is healthy. */
type KnownPlugin = Readonly<ReturnType<typeof describePlugins>[number]>;

function chooseMatch({ client }: Pick<ExtractContext, 'client'>): 'exact' | 'prefix' {
  return client.target.flavor === 'hashicorp' ? 'exact' : 'prefix';
}

/** Writes the pages of a plugin's list, if it answers with a list. @returns the failure, if it may be of this plugin alone */
async function landPages(context: ExtractContext, operation: Operation, plugin: KnownPlugin) {
  const list = (namespace: Namespace) => listTwice(context, operation, { plugin_id: plugin.id, ...namespace });
  const answer = await inNamespaces(context.client, plugin, list);
  if (answer instanceof ServiceError) return answer;
  const fields = { plugin_id: plugin.id, match: chooseMatch(context) };
  for (const page of answer.texts) await context.landing.writeJson(fields, page);
  return undefined;
}

type Namespace = { readonly namespace?: string };

/** More are not tried: a token has rights in one of them, or probably in none. */
const MAX_NAMESPACES = 8;

/**
 * Calls with the namespace of the target. Nomad checks the right to list in one namespace, and answers for all: a target of every
 * namespace has none to send, so that where `default` is refused, those of the volumes are tried.
 * @returns the failure, if it may be of this plugin alone
 */
async function inNamespaces<T>(
  { target }: ServiceClient,
  { namespaces }: KnownPlugin,
  call: (namespace: Namespace) => Promise<T>,
): Promise<T | ServiceError> {
  const isEvery = target.namespace === '*' && target.flavor === 'hashicorp';
  const others = isEvery ? namespaces.filter((name) => name !== 'default').slice(0, MAX_NAMESPACES) : [];
  let answer = await call({}).catch(catchFailure(isPartFailure));
  for (const namespace of others) {
    if (!(answer instanceof ServiceError && answer.failure === 'forbidden')) break;
    answer = await call({ namespace }).catch(catchFailure(isPartFailure));
  }
  return answer;
}

function isAboutPlugin({ failure, serviceMessage }: ServiceError): boolean {
  return failure === 'not-found' || CANNOT_LIST.test(serviceMessage);
}

async function landUnknown(
  { landing }: ExtractContext,
  plugin: string | null,
  failure: ServiceError,
  how: Pick<UnknownPart, 'isUnsupported' | 'isGone'>,
): Promise<void> {
  const { isUnsupported = false } = how;
  const error = describeFailure(failure);
  await landing.writeJson({ plugin_id: plugin, match: null, error, state: isUnsupported ? 'unsupported' : 'unknown' });
  landing.addUnknown({ column: 'plugin_id', value: plugin, reason: error, ...how });
  if (isUnsupported && isRejection(failure)) landing.addNote(`plugin ${plugin ?? '(none)'} is unknown: ${error}`);
}

/** Lists without a plugin, which finds the volumes of plugins that no registered volume names. */
async function landUnnamed(context: ExtractContext, operation: Operation, known: ReadonlySet<string | null>) {
  const { landing } = context;
  const answer = await listTwice(context, operation).catch(catchFailure(isPartFailure));
  if (!(answer instanceof ServiceError)) {
    for (const page of answer.texts) await landing.writeJson({ plugin_id: null, match: 'prefix' }, page);
    return;
  }
  const cannot = (isRejection(answer) || CANNOT_LIST.test(answer.serviceMessage)) && !known.has(null);
  if (!cannot) return landUnknown(context, null, answer, {});
  await landing.writeJson({ plugin_id: null, match: 'prefix', error: describeFailure(answer) });
  landing.addNote(`plugins that no registered volume names are unknown: ${describeFailure(answer)}`);
}

/**
 * The plugins of registered volumes, those that the real product lists, and those that loaded rows belong to: one that is gone may
 * still have what it had.
 */
function describePlugins(
  volumes: readonly ListedVolume[],
  items: ReadonlyMap<string | null, unknown>,
  known: ReadonlySet<string | null>,
) {
  const named = [...volumes.map(({ plugin }) => plugin), ...items.keys(), ...known];
  const ids = new Set(named.filter((id) => typeof id === 'string'));
  const namespaces = [...new Set(volumes.flatMap(({ namespace }) => namespace ?? []))];
  return [...ids].sort().map((id) => {
    const own = volumes.filter(({ plugin }) => plugin === id);
    return {
      id,
      /** Its item in the list of plugins, or without such a list that of a volume. */
      item: items.get(id) ?? own[0]?.item,
      /** Of all volumes: where the token may list them, it may list what each plugin has. */
      namespaces,
      /** Whether a registered volume or the list of plugins names it, beside loaded rows. */
      isNamed: own.length > 0 || items.has(id),
    };
  });
}

/** A server without the list, or a token that may not ask. */
const isRefused = (error: ServiceError): boolean =>
  lacksEndpoint(error) || ['forbidden', 'invalid'].includes(error.failure);

/** The items of the list of plugins by their IDs; or why it does not show them. Only the real product has it. */
async function fetchRunningPlugins({ client, once }: Pick<ExtractContext, 'client' | 'once'>, isExpected = isRefused) {
  const items = new Map<string | null, unknown>();
  if (client.target.flavor !== 'hashicorp') return { items };
  const asked = once('plugins', () => client.call(listPlugins, { type: 'csi' }));
  const answer = await asked.catch(catchFailure(isExpected));
  if (answer instanceof ServiceError) return { items, refusal: answer };
  for (const item of listItems(listPlugins, answer)) items.set(textAt(item, 'ID'), item);
  return { items };
}

/**
 * Whether a plugin cannot list at all. Nomad says so of a process that hangs as well, so that only a plugin counts which is healthy
 * before and after. Without a list of plugins, a service may also reject the ID of one that has no rows.
 */
async function cannotList(context: ExtractContext, failure: ServiceError, plugin: KnownPlugin, hasRows: boolean) {
  const isExact = chooseMatch(context) === 'exact';
  if (!isExact && isRejection(failure)) return !hasRows;
  if (!CANNOT_LIST.test(failure.serviceMessage) || !isHealthy(plugin.item)) return false;
  if (!isExact) return true;
  const later = await fetchRunningPlugins({ ...context, once: (_, request) => request() });
  return isDeepStrictEqual(later.items.get(plugin.id), plugin.item);
}

/** A plugin without a controller is healthy where its nodes are, and cannot list. */
function isHealthy(item: unknown): boolean {
  const fields = (item ?? {}) as Readonly<Record<string, unknown>>;
  const { ControllerRequired, ControllersExpected, ControllersHealthy, NodesHealthy } = fields;
  if (Number(ControllersHealthy) > 0) return true;
  return ControllerRequired === false && Number(ControllersExpected) === 0 && Number(NodesHealthy) > 0;
}

/**
 * What a read of a volume takes from its plugin, such as the version, has the plugin's index and not the volume's. Without the list of
 * plugins, which `flavor: hashicorp` alone has, every volume is read.
 * @returns the item of a volume's plugin; undefined where the service does not show it
 */
export async function createPluginLookup(context: ExtractContext) {
  if (context.client.target.flavor !== 'hashicorp') return () => [];
  const { items } = await fetchRunningPlugins(context, isPartFailure);
  return ({ plugin }: ListedVolume) => [plugin === null ? undefined : items.get(plugin)];
}

/** Lists volumes, then what each plugin has. */
async function checkPluginAccess(client: ServiceClient, operation: Operation, onUnknown: OnUnknown) {
  const { response, volumes } = await callVolumes(client);
  const plugins = describePlugins(volumes, new Map(), new Set());
  const size = chooseMatch({ client }) === 'exact' ? {} : { per_page: 1 };
  const failures: ServiceError[] = [];
  for (const plugin of plugins) {
    const list = (namespace: Namespace) => client.call(operation, { plugin_id: plugin.id, ...size, ...namespace });
    const answer = await inNamespaces(client, plugin, list);
    if (!(answer instanceof ServiceError) || isRejection(answer)) continue;
    if (CANNOT_LIST.test(answer.serviceMessage) && isHealthy(plugin.item)) continue;
    failures.push(answer);
    onUnknown({ column: 'plugin_id', value: plugin.id, reason: describeFailure(answer) });
  }
  const refused = failures.find(({ failure }) => failure === 'forbidden');
  if (refused && failures.length === plugins.length) throw refused;
  return response;
}
