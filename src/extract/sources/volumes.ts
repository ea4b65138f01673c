import { TidemarkError } from '../../core/errors.ts';
import { textAt, toFields, valueAt } from '../../core/json-path.ts';
import { shortenText } from '../../core/log.ts';
import { plural } from '../../core/plural.ts';
import { catchFailure, ServiceError } from '../../http/errors.ts';
import type { ServiceClient } from '../../services/client.ts';
import type { OperationArgs } from '../../services/operation.ts';
import { listPlugins, scheduler } from '../../services/scheduler/operations.ts';
import { validatePathValue } from '../../services/validate-request.ts';
import { describeFailure, listThenLand, type Part, readParts } from './shared/list-and-read.ts';
import { callVolumes, createPluginLookup, fetchVolumes, type ListedVolume, parseVolume } from './shared/plugins.ts';
import { assertSubject, type ExtractContext, type OnUnknown, type SourceDefinition } from './source.ts';

/** CSI volumes and the allocations that claim them. The claims are returned only by reading each volume. */
export const volumes: SourceDefinition = {
  name: 'volumes',
  kind: 'scheduler',
  operations: [scheduler.volumes.list, scheduler.volumes.read, listPlugins],
  unchanged: { list: 'ModifyIndex', unless: mayHaveClaims },
  async extract(context) {
    const { client, landing } = context;
    const list = await context.once('volumes', () => fetchVolumes(context));
    for (const page of list.texts) await landing.writeJson({ kind: 'list' }, page);
    landing.expectRows(new Set(list.volumes.map(({ key }) => key)).size);
    await findHidden(context, list.volumes);
    const findPlugin = await createPluginLookup(context);
    const isReadable = ({ id }: ListedVolume) => validatePathValue('ID', id, client.target).length === 0;
    const unread = list.volumes.filter((volume) => !isReadable(volume));
    const [first] = unread;
    if (first)
      landing.addNote(`${plural(unread.length, 'volume')} not read, first ${first.key}: no path can have such an ID`);
    await listThenLand(context, {
      name: 'volumes',
      items: list.volumes.filter(isReadable).map((volume) => ({ ...volume, parts: findPlugin(volume) })),
      index: list.index,
      relist: async () => (await fetchVolumes(context)).volumes,
      toPart,
      describe: ({ id, namespace }) => `volume ${id} in namespace ${namespace ?? 'default'}`,
      request: (volume) => ({
        fields: { kind: 'read' },
        read: (options) => client.call(scheduler.volumes.read, readArgs(volume), options),
        check: (response) => {
          assertSubject(parseVolume(response.json(), 0), 'key', volume.key, 'volumes');
          assertClaims(response.json(), volume.key);
        },
      }),
      onGone: async ({ id, namespace }) => {
        await landing.writeJson({ kind: 'gone', volume_id: id, namespace: namespace ?? '' });
        landing.expectRows(-1);
      },
      isRow: false,
    });
  },
  checkAccess: checkNamespaces,
};

/**
 * A claim is null where the list of allocations has it: docs/services/scheduler.md#volume-allocations.
 * @throws TidemarkError DATA for a claim of another allocation than its name: it would look like a new one, and the others like gone
 */
function assertClaims(volume: unknown, key: string): void {
  const claims = ['ReadAllocs', 'WriteAllocs'].flatMap((mode) => Object.entries(toFields(valueAt(volume, mode))));
  const other = claims.find(([id, allocation]) => allocation !== null && textAt(allocation, 'ID') !== id);
  if (!other) return;
  throw new TidemarkError('DATA', `volumes: a claim of ${key} is not of the allocation ${shortenText(other[0], 100)}`);
}

/** The list of every namespace leaves out those that the token may not list. A request for one of them alone is refused. */
async function findHidden({ client, landing, knownParts }: ExtractContext, volumes: readonly ListedVolume[]) {
  if (client.target.namespace !== '*' || client.target.flavor !== 'hashicorp') return;
  const listed = new Set(volumes.map(({ namespace }) => namespace));
  for (const namespace of await knownParts()) {
    if (namespace === null || listed.has(namespace)) continue;
    const asked = client.call(scheduler.volumes.list, { type: 'csi', namespace });
    const answer = await asked.catch(catchFailure(({ failure }) => failure === 'forbidden'));
    if (answer instanceof ServiceError)
      landing.addUnknown({ column: 'namespace', value: namespace, reason: describeFailure(answer), isGone: true });
  }
}

/** Lists volumes, then reads the first one of each namespace. */
async function checkNamespaces(client: ServiceClient, onUnknown: OnUnknown) {
  const { response, volumes } = await callVolumes(client);
  const namespaces = new Map([...volumes].reverse().map((volume) => [volume.namespace, volume]));
  const read = (volume: ListedVolume) => client.call(scheduler.volumes.read, readArgs(volume));
  await readParts([...namespaces.values()], { toPart }, onUnknown, read);
  return response;
}

/** The right to list volumes in all namespaces does not include the right to read them. */
const toPart = ({ namespace }: ListedVolume): Part => ({ column: 'namespace', value: namespace });

/**
 * An allocation of a claim changes, and ends, without a change of the volume's index: recorded answers of Nomad show an allocation
 * with a later index than its volume's (docs/services/scheduler.md#unchanged-objects).
 */
function mayHaveClaims(item: unknown): boolean {
  const { CurrentReaders, CurrentWriters } = item as Readonly<Record<string, unknown>>;
  return Number(CurrentReaders ?? 1) !== 0 || Number(CurrentWriters ?? 1) !== 0;
}

/** The API documents have no parameter `namespace`, so it is sent only for a namespace other than `default`. */
function readArgs({ id, namespace }: ListedVolume): OperationArgs<typeof scheduler.volumes.read> {
  return { volume_id: id, ...(namespace !== null && namespace !== 'default' && { namespace }) };
}
