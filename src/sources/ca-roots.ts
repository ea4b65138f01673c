import { mesh } from '../services/mesh.ts';
import { requiredArray, requiredString, type SourceDefinition } from './source.ts';

/** The CA roots that the mesh trusts. */
export const caRoots: SourceDefinition = {
  name: 'ca_roots',
  kind: 'mesh',
  operations: [mesh['ca-roots'].read],
  async extract({ client, landing }) {
    const response = await client.call(mesh['ca-roots'].read);
    // A mesh whose authority is set up always has an active root; an answer without one says nothing about the others.
    requiredString(response.json(), 'ActiveRootID', 'ca_roots', 0);
    landing.expectRows(requiredArray(response.json(), 'Roots', 'ca_roots').length);
    await landing.writeJson({}, response.text);
  },
  checkAccess: (client) => client.call(mesh['ca-roots'].read),
};
