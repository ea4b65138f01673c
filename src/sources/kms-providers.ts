import { secrets } from '../services/secrets.ts';
import { landNamed } from './names.ts';
import { probeNamed } from './probe.ts';
import type { Source } from './source.ts';

/** KMS providers, without their credentials (secrets.md, "KMS provider"). */
export const kmsProviders: Source = {
  name: 'kms_providers',
  kind: 'secrets',
  probe: (service) => probeNamed(service, secrets.kms.list, secrets.kms.read),
  extract: (run) => landNamed(run, secrets.kms.list, secrets.kms.read),
};
