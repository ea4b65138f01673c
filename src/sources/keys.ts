import { secrets } from '../services/secrets.ts';
import { landNamed } from './names.ts';
import { probeNamed } from './probe.ts';
import type { Source } from './source.ts';

/** Keys with their versions (secrets.md, "Key"). */
export const keys: Source = {
  name: 'keys',
  kind: 'secrets',
  probe: (service) => probeNamed(service, secrets.keys.list, secrets.keys.read),
  extract: (run) => landNamed(run, secrets.keys.list, secrets.keys.read),
};
