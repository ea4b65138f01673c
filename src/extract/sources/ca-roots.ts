import { TidemarkError } from '../../core/errors.ts';
import { mesh } from '../../services/mesh.ts';
import { describeCertificates } from './shared/certificates.ts';
import { requiredArray, requiredString, type SourceDefinition } from './source.ts';

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
    for (const certificate of roots.flatMap(readAuthorities)) await landing.writeJson({ ...certificate });
  },
  checkAccess: (client) => client.call(mesh['ca-roots'].read),
};

/**
 * The certificates that a root names, each with its kind. One that is not shown is not gone.
 * @throws TidemarkError DATA for a root without an ID or certificate, and for intermediates that are no list
 */
function readAuthorities(root: unknown, row: number) {
  const rootId = requiredString(root, 'ID', 'ca_roots', row);
  const intermediates = requiredArray(root, 'IntermediateCerts', 'ca_roots');
  const describe = (kind: string, texts: readonly unknown[]) =>
    texts
      .filter((pem): pem is string => typeof pem === 'string' && pem.trim() !== '')
      .flatMap(describeCertificates)
      .map((facts) => ({ root_id: rootId, kind, ...facts }));
  const text = requiredString(root, 'RootCert', 'ca_roots', row);
  return [...describe('root', [text]), ...describe('intermediate', intermediates)];
}
