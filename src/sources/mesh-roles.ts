import { secrets } from '../services/secrets/operations.ts';
import { extractNamed } from './names.ts';
import { checkNamed } from './probe.ts';
import type { SourceDefinition } from './source.ts';

/** Roles of the mesh credential engine; credentials are minted by a GET, which is an action and no source. */
export const meshRoles: SourceDefinition = {
  name: 'mesh_roles',
  kind: 'secrets',
  checkAccess: (service) => checkNamed(service, secrets['mesh-roles'].list, secrets['mesh-roles'].read),
  extract: (run) => extractNamed(run, secrets['mesh-roles'].list, secrets['mesh-roles'].read),
};
