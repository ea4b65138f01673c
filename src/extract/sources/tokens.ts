import { stringify } from 'lossless-json';
import { tokenOperations } from '../../services/describe-server.ts';
import { describeToken } from '../../services/describe-token.ts';
import type { SourceDefinition } from './source.ts';

/**
 * Who the token of the target is, as the real products tell it. The landing contains the description instead of the response,
 * which repeats the token.
 */
export const tokens: SourceDefinition = {
  name: 'tokens',
  kind: ['platform', 'secrets', 'scheduler', 'mesh'],
  flavor: 'hashicorp',
  operations: Object.values(tokenOperations),
  async extract({ client, landing }) {
    await landing.writeJson({}, stringify(await describeToken(client)) ?? ''); // with integers of any size
    landing.expectRows(1);
  },
  checkAccess: async (client) => void (await describeToken(client)),
};
