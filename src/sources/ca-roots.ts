import { mesh } from '../services/mesh.ts';
import { listIn, type Source } from './source.ts';

/** The CA roots that the mesh trusts. */
export const caRoots: Source = {
  name: 'ca_roots',
  kind: 'mesh',
  probe: (service) => service.call(mesh['ca-roots'].read),
  async extract({ service, land, options }) {
    const answer = await service.call(mesh['ca-roots'].read, {}, options);
    land.expect(listIn(answer.json(), 'Roots', 'ca_roots').length);
    await land.line({}, answer.text);
  },
};
