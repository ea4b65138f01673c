import { mesh } from '../services/mesh.ts';
import { requiredString, type SourceDefinition } from './source.ts';

/** Leaf certificates of the target's `services`. The landing drops their private keys. */
export const leafCertificates: SourceDefinition = {
  name: 'leaf_certificates',
  kind: 'mesh',
  operations: [mesh['ca-leaf'].read],
  async extract({ client, landing, forEachLimited }) {
    await forEachLimited(client.target.services, async (service) => {
      const response = await client.call(mesh['ca-leaf'].read, { service });
      requiredString(response.json(), 'ValidBefore', `leaf_certificates of ${service}`, 0);
      await landing.writeJson({ service }, response.text);
      landing.expectRows(1);
    });
  },
  checkAccess: (client) => {
    const [service] = client.target.services;
    return service === undefined ? client.call(mesh['ca-roots'].read) : client.call(mesh['ca-leaf'].read, { service });
  },
};
