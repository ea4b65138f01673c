import { expect, test } from 'vitest';
import { reportToken } from '../../src/run/doctor/check-token.ts';
import { createCheckList } from '../../src/run/doctor/checks.ts';
import { describeToken } from '../../src/services/describe-token.ts';
import { createTarget, createTestClient, startServer } from '../helpers/http-service.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

const atEnd = cleanAtEnd();

/** What doctor says of a client token with these policies, at a scheduler that answers no other question. */
async function describeRules(policies: Readonly<Record<string, string>>): Promise<string> {
  const answers: Record<string, unknown> = {
    '/v1/acl/token/self': { AccessorID: 'a', Type: 'client', Policies: Object.keys(policies) },
    '/v1/acl/policies': Object.keys(policies).map((Name) => ({ Name })),
    ...Object.fromEntries(Object.entries(policies).map(([Name, Rules]) => [`/v1/acl/policy/${Name}`, { Name, Rules }])),
  };
  const server = await startServer((request, response) =>
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answers[request.url ?? ''])),
  );
  atEnd(server.close);
  const target = createTarget('scheduler', server.origin, { flavor: 'hashicorp' });
  const list = createCheckList('nomad');
  reportToken(list, 'token', target, await describeToken(createTestClient(target).client), {
    now: new Date(),
    tokenDays: 14,
  });
  return list.checks[0]!.detail;
}

test.each([
  ['an attribute that the service ignores', 'namespace "*" { polcy = "write" }', 'may: namespace "*" (nothing);'],
  [
    'blocks within blocks',
    'namespace "*" { policy = "read" variables { path "a/*" { capabilities = ["write"] } } }',
    'may: namespace "*" (read); namespace "*" variables path "a/*" (write);',
  ],
])('doctor says what a token may do by rules with %s', async (_, rules, said) => {
  expect(await describeRules({ own: rules })).toContain(said);
});

test('doctor says that a policy is not understood, beside those that are', async () => {
  const said = await describeRules({
    plain: 'node { policy = "read" }',
    odd: 'namespace "*" { policy = "\\x77rite" }',
  });
  expect(said).toContain('may: node (read); what the policy odd grants is not known;');
});
