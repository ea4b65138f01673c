import { stringify } from 'lossless-json';
import { TidemarkError } from '../../core/errors.ts';
import { textAt } from '../../core/json-path.ts';
import { mesh } from '../../services/mesh.ts';
import { type CertificateFacts, describeCertificates } from './shared/certificates.ts';
import { requiredArray, requiredString, type SourceDefinition } from './source.ts';

/** The CA roots that the mesh trusts, with their certificates and intermediates. */
export const caRoots: SourceDefinition = {
  name: 'ca_roots',
  kind: 'mesh',
  operations: [mesh['ca-roots'].read],
  async extract({ client, landing, query }) {
    const response = await client.call(mesh['ca-roots'].read);
    const roots = requiredArray(response.json(), 'Roots', 'ca_roots');
    const ids = new Set(roots.map((root) => textAt(root, 'ID')));
    // A mesh whose authority is set up has a root: such an answer says nothing about the roots before.
    if (roots.length === 0) throw new TidemarkError('DATA', 'ca_roots: the response has no root');
    const active = textAt(response.json(), 'ActiveRootID');
    if (active !== null && !ids.has(active))
      throw new TidemarkError('DATA', 'ca_roots: the response does not have the root that it names as the active one');
    landing.expectRows(ids.size);
    await landing.writeJson({}, response.text);
    const certificates = roots.flatMap(readAuthorities);
    for (const certificate of certificates) await landing.writeJson(certificate);
    const unreadable = new Set(certificates.flatMap(({ root_id, subject }) => (subject === undefined ? root_id : [])));
    const reason = 'its certificates can no longer be read';
    for (const { target, root_id } of await query('readable_roots')) {
      const value = String(root_id);
      if (target === client.target.name && unreadable.has(value))
        landing.addUnknown({ column: 'root_id', value, reason });
    }
  },
  checkAccess: (client) => client.call(mesh['ca-roots'].read),
};

/**
 * The certificates that a root names, each with its kind. One that is not shown, or cannot be read, is not gone.
 * @throws TidemarkError DATA for a root without an ID or certificate, and for intermediates that are no list
 */
function readAuthorities(root: unknown, row: number): readonly (CertificateFacts & { readonly root_id: string })[] {
  const rootId = requiredString(root, 'ID', 'ca_roots', row);
  const intermediates = requiredArray(root, 'IntermediateCerts', 'ca_roots');
  const describe = (kind: string, texts: readonly unknown[]) =>
    texts
      .map((pem) => (typeof pem === 'string' ? pem : (stringify(pem) ?? '')))
      .flatMap(describeCertificates)
      .map((facts) => ({ ...facts, root_id: rootId, kind }));
  const text = requiredString(root, 'RootCert', 'ca_roots', row);
  return [...describe('root', [text]), ...describe('intermediate', intermediates)];
}
