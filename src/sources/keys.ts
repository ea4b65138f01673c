import { secrets } from '../services/secrets/operations.ts';
import { extractNamed } from './names.ts';
import { checkNamed } from './probe.ts';
import type { SourceDefinition } from './source.ts';

/** Keys with their versions (secrets.md, "Key"). */
export const keys: SourceDefinition = {
  name: 'keys',
  kind: 'secrets',
  checkAccess: (service) => checkNamed(service, secrets.keys.list, secrets.keys.read),
  extract: (run) => extractNamed(run, secrets.keys.list, secrets.keys.read),
};
