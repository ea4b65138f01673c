import { secrets } from '../services/secrets/operations.ts';
import { CONDITIONAL, checkNamed, extractNamed } from './shared/list-and-read.ts';
import type { SourceDefinition } from './source.ts';

/** Roles of the mesh engine. Its credentials are not a source, since reading them creates a token. */
export const meshRoles: SourceDefinition = {
  name: 'mesh_roles',
  kind: 'secrets',
  operations: [secrets['mesh-roles'].list, secrets['mesh-roles'].read],
  unchanged: CONDITIONAL,
  extract: (context) => extractNamed(context, secrets['mesh-roles'].list, secrets['mesh-roles'].read),
  checkAccess: (client) => checkNamed(client, secrets['mesh-roles'].list, secrets['mesh-roles'].read),
};
