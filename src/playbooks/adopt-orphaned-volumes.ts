import { createHash } from 'node:crypto';
import { z } from 'zod';
import { scheduler } from '../services/scheduler.ts';
import { bodyOf, listAt, textAt } from './answers.ts';
import { askedNamespace } from './namespace.ts';
import { type Desk, playbook, skip } from './playbook.ts';
import { step } from './step.ts';
import { externalVolumes, holds, registeredAs, registeredVolumes } from './storage-listings.ts';
import { changed, done, due } from './verdict.ts';

const detail = z.object({ plugin_id: z.string(), external_id: z.string() });
const capability = z.object({ AccessMode: z.string(), AttachmentMode: z.string() });
const facts = detail.extend({
  /** The one that the volume gets. */
  volume_id: z.string(),
  namespace: z.string(),
  capabilities: z.array(capability).min(1),
});

const register = step(facts, {
  operation: 'scheduler.volumes.register',
  // Its body, or the target, tells the namespace.
  params: { volume_id: 'volume_id' },
  body: ({ volume_id, namespace, plugin_id, external_id, capabilities }) => ({
    Volumes: [
      {
        ID: volume_id,
        Name: volume_id,
        Namespace: namespace,
        ExternalID: external_id,
        PluginID: plugin_id,
        RequestedCapabilities: capabilities,
      },
    ],
  }),
  reads: {
    external: externalVolumes,
    volumes: registeredVolumes,
    same: { operation: 'scheduler.volumes.read', params: { volume_id: 'volume_id' } },
  },
  see: ({ external, volumes, same }, { plugin_id, external_id }) => ({
    in_provider: external.found ? holds(external, external_id) : null,
    registered_as: volumes.found ? registeredAs(volumes, plugin_id, external_id) : null,
    id_stands_for: same.found ? (textAt(bodyOf(same), 'ExternalID') ?? '') : null,
  }),
  judge: ({ in_provider, registered_as, id_stands_for }, { external_id }) => {
    if (registered_as === null) return changed('what is registered is not told');
    if (registered_as.length > 0) return done(`it is registered as ${registered_as.join(', ')}`);
    if (id_stands_for === external_id) return done('it is registered');
    if (id_stands_for !== null) return changed('another volume has the ID');
    if (in_provider === null) return changed('what the provider holds is not told');
    return in_provider ? due : changed('the provider does not hold it any more');
  },
});

export const adoptOrphanedVolumes = playbook({
  name: 'adopt-orphaned-volumes',
  rule: 'orphaned-external-volume',
  about: 'register volumes that the storage provider holds and nobody registered',
  table: 'external_volumes',
  steps: [register],
  detail,
  plan: async ({ target, detail: { plugin_id, external_id } }, desk) => {
    const capabilities = await siblingCapabilities(desk, plugin_id);
    if (capabilities.length === 0) {
      return skip(`no registered volume of plugin ${plugin_id} tells how its volumes can be attached`);
    }
    const namespace = namespaceOf(desk);
    const volumeId = volumeIdFor(external_id, `${target} ${plugin_id}`);
    return [
      {
        step: register,
        facts: { plugin_id, external_id, volume_id: volumeId, namespace, capabilities },
        summary: `register ${external_id} of plugin ${plugin_id} as volume ${volumeId} in namespace ${namespace}`,
      },
    ];
  },
});

/** What the first registered volume of the plugin that tells it was registered with: external volumes do not say. */
async function siblingCapabilities(desk: Desk, pluginId: string): Promise<readonly z.infer<typeof capability>[]> {
  const siblings = await desk.rows('siblings', { plugin_id: pluginId });
  for (const sibling of siblings) {
    const namespace = askedNamespace.parse(sibling.namespace);
    const args = { volume_id: String(sibling.volume_id), ...(namespace !== null && { namespace }) };
    const volume = bodyOf(await desk.ask(scheduler.volumes.read, args));
    const requested = z.array(capability).safeParse(listAt(volume, 'RequestedCapabilities'));
    if (requested.success && requested.data.length > 0) return requested.data;
  }
  return [];
}

/** Every namespace of the target is none to register in: the scheduler's own default then takes it. */
function namespaceOf({ target }: Desk): string {
  return target.namespace === undefined || target.namespace === '*' ? 'default' : target.namespace;
}

/** Longer ones do not fit the names of sockets and folders that storage plugins make of them. */
const LONGEST_ID = 100;

/** The provider's ID with only what a path takes; where that drops something, a digest keeps two from meeting. */
function volumeIdFor(externalId: string, place: string): string {
  const plain = externalId
    .replaceAll(/[^A-Za-z0-9_-]+/gu, '-')
    .replaceAll(/^-+|-+$/gu, '')
    .slice(0, LONGEST_ID);
  if (plain === externalId) return plain;
  const digest = createHash('sha256').update(`${place} ${externalId}`).digest('hex').slice(0, 8);
  return plain === '' ? `volume-${digest}` : `${plain}-${digest}`;
}
