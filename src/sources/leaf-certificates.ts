import { mesh } from '../services/mesh.ts';
import { requiredString, type SourceDefinition } from './source.ts';

/** Leaf certificates of the services that the target names; the private key is dropped before anything is written. */
export const leafCertificates: SourceDefinition = {
  name: 'leaf_certificates',
  kind: 'mesh',
  checkAccess: (service) => {
    const [name] = service.target.services;
    return name === undefined
      ? service.call(mesh['ca-roots'].read)
      : service.call(mesh['ca-leaf'].read, { service: name });
  },
  async extract({ client, landing, requestOptions, forEachLimited }) {
    await forEachLimited(client.target.services, async (name) => {
      const answer = await client.call(mesh['ca-leaf'].read, { service: name }, requestOptions);
      requiredString(answer.json(), 'ValidBefore', `leaf_certificates of ${name}`, 0);
      await landing.writeJson({ service: name }, answer.text);
      landing.expectRows(1);
    });
  },
};
