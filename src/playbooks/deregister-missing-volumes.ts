import { z } from 'zod';
import { bodyOf, textAt } from './answers.ts';
import { askedNamespace } from './namespace.ts';
import { simplePlaybook } from './playbook.ts';
import { step } from './step.ts';
import { externalVolumes, holds } from './storage-listings.ts';
import { changed, done, due } from './verdict.ts';
import { claimsOf } from './volume-claims.ts';

const facts = z.object({
  volume_id: z.string(),
  namespace: askedNamespace,
  plugin_id: z.string(),
  external_id: z.string(),
});

const deregister = step(facts, {
  operation: 'scheduler.volumes.deregister',
  params: { volume_id: 'volume_id', namespace: 'namespace' },
  reads: {
    volume: { operation: 'scheduler.volumes.read', params: { volume_id: 'volume_id', namespace: 'namespace' } },
    external: externalVolumes,
  },
  see: ({ volume, external }, { external_id }) =>
    volume.found
      ? {
          external_id: textAt(bodyOf(volume), 'ExternalID'),
          claims: claimsOf(bodyOf(volume))?.length ?? null,
          in_provider: external.found ? holds(external, external_id) : null,
        }
      : null,
  judge: (seen, { external_id }) => {
    if (seen === null) return done('the volume is not registered');
    if (seen.external_id !== external_id) return changed(`it stands for ${seen.external_id ?? 'nothing'} now`);
    if (seen.in_provider === null) return changed('what the provider holds is not told');
    if (seen.in_provider) return changed('the provider holds it again');
    return seen.claims === 0 ? due : changed('it is claimed');
  },
});

export const deregisterMissingVolumes = simplePlaybook({
  name: 'deregister-missing-volumes',
  rule: 'missing-external-volume',
  about: 'deregister volumes that are not in their storage provider and not in use',
  table: 'volumes',
  detail: facts,
  step: deregister,
  summary: ({ subject_name, detail }) =>
    `deregister volume ${subject_name ?? detail.volume_id}: ${detail.plugin_id} does not hold ${detail.external_id}`,
});
