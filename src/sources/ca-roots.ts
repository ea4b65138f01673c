import { mesh } from '../services/mesh.ts';
import { requiredArray, type SourceDefinition } from './source.ts';

/** The CA roots that the mesh trusts. */
export const caRoots: SourceDefinition = {
  name: 'ca_roots',
  kind: 'mesh',
  checkAccess: (service) => service.call(mesh['ca-roots'].read),
  async extract({ client, landing, requestOptions }) {
    const answer = await client.call(mesh['ca-roots'].read, {}, requestOptions);
    landing.expectRows(requiredArray(answer.json(), 'Roots', 'ca_roots').length);
    await landing.writeJson({}, answer.text);
  },
};
