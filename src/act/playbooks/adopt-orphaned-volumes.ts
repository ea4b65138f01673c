import { z } from 'zod';
import { listAt } from '../../core/json-path.ts';
import { scheduler } from '../../services/scheduler/operations.ts';
import { defineAction, definePlaybook, drifted, ready, satisfied, skip, unknown } from '../define.ts';
import * as csi from './lib/csi.ts';
import { responseBody } from './lib/reads.ts';

const capabilities = z.array(z.object({ AccessMode: z.string(), AttachmentMode: z.string() })).min(1);
const inputs = csi.plannedExternal.extend({
  /** The ID to register the volume under. */
  volume_id: z.string(),
  namespace: z.string(),
  capabilities,
});

/** `plugin_id`: null in a plan of an earlier version. */
const deregisterInputs = csi.plannedVolume.extend({ plugin_id: z.string().nullable().default(null) });

const deregister = defineAction(deregisterInputs, {
  operation: 'scheduler.volumes.deregister',
  params: { volume_id: 'volume_id', namespace: 'namespace' },
  reads: { volume: csi.readVolume },
  observe: ({ volume }) => csi.observeVolume(volume),
  evaluate: csi.evaluateDeregistration,
});

const register = defineAction(inputs, {
  operation: 'scheduler.volumes.register',
  // The namespace is in the body, or the one of the target.
  params: { volume_id: 'volume_id' },
  body: ({ volume_id: Id, namespace: Namespace, plugin_id: PluginID, external_id: ExternalID, capabilities }) => ({
    Volumes: [{ ID: Id, Name: Id, Namespace, ExternalID, PluginID, RequestedCapabilities: capabilities }],
  }),
  change: ({ volume_id, namespace, plugin_id, external_id, capabilities }) => ({
    before: null,
    after: { volume_id, namespace, plugin_id, external_id, capabilities },
  }),
  reads: {
    external: csi.readExternalVolumes,
    volumes: csi.readRegisteredVolumes,
    snapshots: { ...csi.readSnapshots, allowFailure: true },
    sameId: { ...csi.readVolume, params: { volume_id: 'volume_id' } },
  },
  observe: ({ external, volumes, snapshots, sameId }, { plugin_id, plugin_match, external_id }) => ({
    longer_plugins: csi.findLongerPlugins({ plugin_id, plugin_match }, volumes, snapshots),
    in_provider: csi.isListed(external, external_id),
    registered_as: csi.registeredIds(volumes, plugin_id, external_id),
    same_id: sameId.found ? csi.parseVolume(responseBody(sameId)) : null,
  }),
  evaluate: (observed, planned) => {
    const { in_provider, registered_as, same_id, longer_plugins } = observed;
    if (registered_as === null) return unknown('the registered volumes are not reported');
    if (registered_as.length > 0) return satisfied(`it is registered as ${registered_as.join(', ')}`);
    if (same_id) {
      const other = csi.explainOtherVolume(same_id, planned);
      return other?.state === 'drifted'
        ? drifted('another volume has the ID')
        : (other ?? satisfied('it is registered'));
    }
    if (in_provider === null) return unknown('the volumes in the provider are not reported');
    if (longer_plugins.length > 0) return drifted(csi.describeLongerPlugins(planned.plugin_id, longer_plugins));
    return in_provider ? ready : drifted('it is no longer in the provider');
  },
  undo: {
    action: deregister,
    needs: ['before.registered_as'],
    inputs: ({ inputs: { volume_id, namespace, external_id, plugin_id }, before, isAnswered }) => {
      if (!isAnswered) return 'the ledger does not show who registered the volume';
      const wasRegistered = before.registered_as?.length !== 0;
      if (wasRegistered) return 'the volume was registered before the action';
      return { volume_id, namespace, external_id, plugin_id };
    },
    summary: ({ inputs: { volume_id, external_id } }) =>
      `deregister volume ${volume_id}; ${external_id} stays in the provider`,
  },
});

export const adoptOrphanedVolumes = definePlaybook({
  name: 'adopt-orphaned-volumes',
  rule: 'orphaned-external-volume',
  description: 'register volumes that exist in the storage provider and are not registered',
  table: 'external_volumes',
  actions: [register],
  detail: z.object({ plugin_id: z.string().nullable(), external_id: z.string(), is_abnormal: z.boolean().nullish() }),
  plan: async ({ detail: { plugin_id, external_id, is_abnormal } }, ctx) => {
    if (plugin_id === null) return skip(`the plugin that has ${external_id} is not known`);
    // A volume cannot be registered in `*`: the default namespace is used then.
    const { namespace: own = '*' } = ctx.target;
    const namespace = own === '*' ? 'default' : own;
    // External volumes do not report their capabilities, so those of the first registered volume of the plugin are used.
    for (const { new_id, ...sibling } of await ctx.query('siblings', { plugin_id, external_id })) {
      const where = csi.requestedNamespace.parse(sibling.namespace);
      const args = { volume_id: String(sibling.volume_id), ...(where !== null && { namespace: where }) };
      const volume = responseBody(await ctx.read(scheduler.volumes.read, args));
      const reported = capabilities.safeParse(listAt(volume, 'RequestedCapabilities'));
      if (!reported.success) continue;
      // It may not be usable: whoever approves decides.
      const doubt = is_abnormal ? '; its provider reports that it is abnormal' : '';
      const summary = `register ${external_id} of plugin ${plugin_id} as volume ${new_id} in namespace ${namespace}${doubt}`;
      const ids = { plugin_id, plugin_match: csi.choosePluginMatch(ctx.target), external_id, volume_id: new_id };
      return [{ action: register, inputs: { ...ids, namespace, capabilities: reported.data }, summary }];
    }
    return skip(`no registered volume of plugin ${plugin_id} reports how its volumes can be attached`);
  },
});
