import { defineAction, definePlaybook, drifted, ready, unknown } from '../define.ts';
import {
  evaluateDeregistration,
  isListed,
  observeVolume,
  plannedVolume,
  readExternalVolumes,
  readVolume,
} from './lib/scheduler.ts';

const deregister = defineAction(plannedVolume, {
  operation: 'scheduler.volumes.deregister',
  params: { volume_id: 'volume_id', namespace: 'namespace' },
  reads: { volume: readVolume, external: readExternalVolumes },
  observe: ({ volume, external }, { external_id }) => {
    const observed = observeVolume(volume);
    return observed && { ...observed, in_provider: isListed(external, external_id) };
  },
  evaluate: (observed, planned) => {
    const precondition = evaluateDeregistration(observed, planned);
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
  detail: plannedVolume,
  action: deregister,
  summary: ({ subject_name, detail }) =>
    `deregister volume ${subject_name ?? detail.volume_id}: plugin ${detail.plugin_id} does not have ${detail.external_id}`,
});
