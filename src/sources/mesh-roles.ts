import { secrets } from '../services/secrets.ts';
import { landNamed } from './names.ts';
import type { Source } from './source.ts';

/** Roles of the mesh credential engine; credentials are minted by a GET, which is an action and no source. */
export const meshRoles: Source = {
  name: 'mesh_roles',
  kind: 'secrets',
  probe: (service) => service.call(secrets['mesh-roles'].list),
  extract: (run) => landNamed(run, secrets['mesh-roles'].list, secrets['mesh-roles'].read),
};
