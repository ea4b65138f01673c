import { secrets } from '../services/secrets/operations.ts';
import { extractNamed } from './names.ts';
import { checkNamed } from './probe.ts';
import type { SourceDefinition } from './source.ts';

/** KMS providers, without their credentials (secrets.md, "KMS provider"). */
export const kmsProviders: SourceDefinition = {
  name: 'kms_providers',
  kind: 'secrets',
  checkAccess: (service) => checkNamed(service, secrets.kms.list, secrets.kms.read),
  extract: (run) => extractNamed(run, secrets.kms.list, secrets.kms.read),
};
