import { secrets } from '../services/secrets.ts';
import { landNamed } from './names.ts';
import type { Source } from './source.ts';

/** Keys with their versions (secrets.md, "Key"). */
export const keys: Source = {
  name: 'keys',
  kind: 'secrets',
  probe: (service) => service.call(secrets.keys.list),
  extract: (run) => landNamed(run, secrets.keys.list, secrets.keys.read),
};
