import { secrets } from '../services/secrets.ts';
import { landNamed } from './names.ts';
import { probeNamed } from './probe.ts';
import type { Source } from './source.ts';

/** Roles of the mesh credential engine; credentials are minted by a GET, which is an action and no source. */
export const meshRoles: Source = {
  name: 'mesh_roles',
  kind: 'secrets',
  probe: (service) => probeNamed(service, secrets['mesh-roles'].list, secrets['mesh-roles'].read),
  extract: (run) => landNamed(run, secrets['mesh-roles'].list, secrets['mesh-roles'].read),
};
