import { mesh } from '../services/mesh.ts';
import { nameIn, type Source } from './source.ts';

/** Leaf certificates of the services that the target names; the private key is dropped before anything is written. */
export const leafCertificates: Source = {
  name: 'leaf_certificates',
  kind: 'mesh',
  probe: (service) => {
    const [name] = service.target.services;
    return name === undefined
      ? service.call(mesh['ca-roots'].read)
      : service.call(mesh['ca-leaf'].read, { service: name });
  },
  async extract({ service, land, options, each }) {
    await each(service.target.services, async (name) => {
      const answer = await service.call(mesh['ca-leaf'].read, { service: name }, options);
      nameIn(answer.json(), 'ValidBefore', `leaf_certificates of ${name}`, 0);
      await land.line({ service: name }, answer.text);
      land.expect(1);
    });
  },
};
