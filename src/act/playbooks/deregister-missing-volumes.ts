import { defineAction, definePlaybook, drifted, ready, unknown } from '../define.ts';
import * as csi from './lib/csi.ts';

const deregister = defineAction(csi.plannedVolume, {
  operation: 'scheduler.volumes.deregister',
  params: { volume_id: 'volume_id', namespace: 'namespace' },
  reads: { volume: csi.readVolume, external: csi.readExternalVolumes },
  observe: ({ volume, external }, { external_id }) => {
    const observed = csi.observeVolume(volume);
    return observed && { ...observed, in_provider: csi.isListed(external, external_id) };
  },
  evaluate: (observed, planned) => {
    const precondition = csi.evaluateDeregistration(observed, planned);
    if (observed === null || precondition.state !== 'ready') return precondition;
    if (observed.in_provider === null) return unknown('the volumes in the provider are not reported');
    return observed.in_provider ? drifted('it is in the provider again') : ready;
  },
});

export const deregisterMissingVolumes = definePlaybook({
  name: 'deregister-missing-volumes',
  rule: 'missing-external-volume',
  description: 'deregister volumes that are not in their storage provider and not in use',
  table: 'volumes',
  detail: csi.plannedVolume,
  action: deregister,
  summary: ({ subject_name, detail }) =>
    `deregister volume ${subject_name ?? detail.volume_id}: plugin ${detail.plugin_id} does not have ${detail.external_id}`,
});
