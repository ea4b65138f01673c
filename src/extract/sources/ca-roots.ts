import { TidemarkError } from '../../core/errors.ts';
import { mesh } from '../../services/mesh.ts';
import { describeCertificates } from './shared/certificates.ts';
import { requiredArray, type SourceDefinition } from './source.ts';

/** The CA roots that the mesh trusts, with their certificates and intermediates. */
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
    for (const root of roots) {
      for (const certificate of readAuthorities(root)) await landing.writeJson({ ...certificate });
    }
  },
  checkAccess: (client) => client.call(mesh['ca-roots'].read),
};

/** The certificates that a root names, each with its kind. @throws TidemarkError DATA for intermediates that are no list */
function readAuthorities(root: unknown) {
  const { ID: id, RootCert: text } = root as Readonly<Record<string, unknown>>;
  const intermediates = requiredArray({ IntermediateCerts: null, ...Object(root) }, 'IntermediateCerts', 'ca_roots');
  const rootId = typeof id === 'string' ? id : null;
  const describe = (kind: string, texts: unknown) =>
    (Array.isArray(texts) ? texts : [texts])
      .filter((pem) => typeof pem === 'string' && pem.trim() !== '')
      .flatMap(describeCertificates)
      .map((facts) => ({ root_id: rootId, kind, ...facts }));
  return [...describe('root', text), ...describe('intermediate', intermediates)];
}
