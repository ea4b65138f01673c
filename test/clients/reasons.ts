import type { Flavor } from '../../sandbox/types.ts';

/** One operation through one client; `error` is null where the client accepted the answer and it was the expected one. */
export interface ClientResult {
  readonly client: string;
  readonly operation: string;
  readonly error: string | null;
}

interface Reason {
  readonly flavor: Flavor;
  readonly client?: RegExp;
  readonly operation?: RegExp;
  readonly error?: RegExp;
  readonly why: string;
}

/** Why a client may be refused: the first that applies counts. */
const REASONS: readonly Reason[] = [
  {
    flavor: 'hashicorp',
    client: /^nomad\/api$/,
    operation: /Detach/,
    why: 'Nomad itself answered 500 `Unknown allocation` in every case, also to its own command',
  },
  {
    flavor: 'spec',
    client: /^(hvac|vault\/api)$/,
    why: 'the API document names the header `X-Store-Token` and has no endpoints about the server; the client sends `X-Vault-Token`',
  },
  {
    flavor: 'spec',
    operation:
      /account|entitlements|Users|Entitlements|self|Self|namespaces|Namespaces|Plugins|[cC]atalog|services|Agent\.Services/,
    why: 'the API document does not have the endpoint',
  },
  {
    flavor: 'spec',
    operation: /agent_tokens|AgentTokens/,
    why: 'the API document does not have tokens of agent pools',
  },
  {
    flavor: 'spec',
    operation: /project/i,
    error: /filter|bad request/,
    why: 'the API document does not have the filter',
  },
  {
    flavor: 'spec',
    operation: /UpdateAllowedProjects/,
    why: 'the API document has `allowed-workspaces` only',
  },
  { flavor: 'spec', operation: /two values/, why: 'the last index of a filter must be 0 in the API document' },
  {
    flavor: 'spec',
    operation: /saved_view/,
    why: 'the API document writes a saved view in a flat form; the client sends JSON:API',
  },
  { flavor: 'spec', operation: /authorize/, why: 'the API document has POST only; the client sends PUT' },
  {
    flavor: 'spec',
    operation: /ACLPolicies/,
    why: 'the API document writes a policy with POST only; the client sends PUT',
  },
  {
    flavor: 'spec',
    operation: /CSIVolumes\.(List|List by pages|Info)$/,
    why: '`ResourceExhausted` is an integer in the API document; the client reads a time',
  },
  {
    flavor: 'spec',
    operation: /CSIVolumes/,
    why: 'the API document has other fields and paths to create volumes and snapshots; what follows needs the volume',
  },
];

export function explain(flavor: Flavor, { client, operation, error }: ClientResult): string | undefined {
  return REASONS.find(
    (reason) =>
      reason.flavor === flavor &&
      (reason.client?.test(client) ?? true) &&
      (reason.operation?.test(operation) ?? true) &&
      (reason.error?.test(error ?? '') ?? true),
  )?.why;
}
