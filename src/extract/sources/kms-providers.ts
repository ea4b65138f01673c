import { secrets } from '../../services/secrets/operations.ts';
import { CONDITIONAL, checkNamed, extractNamed } from './shared/list-and-read.ts';
import type { SourceDefinition } from './source.ts';

/** KMS providers, without their credentials. */
export const kmsProviders: SourceDefinition = {
  name: 'kms_providers',
  kind: 'secrets',
  operations: [secrets.kms.list, secrets.kms.read],
  unchanged: CONDITIONAL,
  extract: (context) => extractNamed(context, secrets.kms.list, secrets.kms.read),
  checkAccess: checkNamed(secrets.kms.list, secrets.kms.read),
};
