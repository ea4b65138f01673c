import { secrets } from '../../services/secrets/operations.ts';
import { CONDITIONAL, checkNamed, extractNamed } from './shared/list-and-read.ts';
import type { SourceDefinition } from './source.ts';

/** Keys with their versions. */
export const keys: SourceDefinition = {
  name: 'keys',
  kind: 'secrets',
  operations: [secrets.keys.list, secrets.keys.read],
  unchanged: CONDITIONAL,
  extract: (context) => extractNamed(context, secrets.keys.list, secrets.keys.read),
  checkAccess: checkNamed(secrets.keys.list, secrets.keys.read),
};
