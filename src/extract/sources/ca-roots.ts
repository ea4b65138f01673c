import { TidemarkError } from '../../core/errors.ts';
import { mesh } from '../../services/mesh.ts';
import { requiredArray, type SourceDefinition } from './source.ts';

/** The CA roots that the mesh trusts. */
export const caRoots: SourceDefinition = {
  name: 'ca_roots',
  kind: 'mesh',
  operations: [mesh['ca-roots'].read],
  async extract({ client, landing }) {
    const response = await client.call(mesh['ca-roots'].read);
    const roots = requiredArray(response.json(), 'Roots', 'ca_roots');
    // A mesh whose authority is set up has a root: such an answer says nothing about the roots before.
    if (roots.length === 0) throw new TidemarkError('DATA', 'ca_roots: the response has no root');
    landing.expectRows(roots.length);
    await landing.writeJson({}, response.text);
  },
  checkAccess: (client) => client.call(mesh['ca-roots'].read),
};
