import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import type { Kind } from '../../sandbox/types.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { ask } from './secrets-client.ts';

let sandbox: RunningSandbox;

beforeAll(async () => {
  sandbox = await startTestSandbox();
  for (const [kind, line, body] of NEEDED) await ask(sandbox, kind, line, { body });
});
afterAll(() => sandbox.close());

const RULES = 'namespace "default" { policy = "read" }';

type Write = readonly [kind: Kind, line: string, body: Readonly<Record<string, unknown>>];

/** A key and a provider, which the write of a key into a provider needs. */
const NEEDED: readonly Write[] = [
  ['secrets', 'POST /keymgmt/key/kept', { type: 'ecdsa-p256' }],
  ['secrets', 'POST /keymgmt/kms/kept', { provider: 'awskms', key_collection: 'eu-west-1' }],
];

/** Bodies that are accepted as they are, and refused with one more field. */
const WRITES: readonly Write[] = [
  ...NEEDED,
  ['secrets', 'POST /keymgmt/kms/kept/key/kept', { purpose: ['sign'] }],
  ['secrets', 'POST /mesh/roles/kept', { token_type: 'management' }],
  ['secrets', 'POST /mesh/config/access', { address: 'a:8500', token: 't' }],
  ['scheduler', 'POST /acl/policy/kept', { Name: 'kept', Rules: RULES }],
];

test.each(WRITES)('%s %s refuses a field that it would not keep', async (kind, line, body) => {
  const refused = await ask(sandbox, kind, line, { body: { ...body, invented: 1 } });
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('invented') as string]);
  expect((await ask(sandbox, kind, line, { body })).status).toBeLessThan(300);
});
