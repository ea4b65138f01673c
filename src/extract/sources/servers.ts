import { askVersion, VERSION_QUESTIONS } from '../../services/describe-server.ts';
import type { SourceDefinition } from './source.ts';

/** Which product and version the server of a target is, as the real products tell it without further rights. */
export const servers: SourceDefinition = {
  name: 'servers',
  kind: ['platform', 'secrets', 'scheduler', 'autoscaler', 'mesh'],
  flavor: 'hashicorp',
  operations: Object.values(VERSION_QUESTIONS).map(({ operation }) => operation),
  async extract({ client, landing }) {
    const server = await askVersion(client, (text) => landing.mask(text));
    if (server.note !== null) landing.addNote(server.note);
    await landing.writeJson({ kind: client.target.kind, ...server });
    landing.expectRows(1);
  },
  checkAccess: async (client) => void (await askVersion(client, String)),
};
