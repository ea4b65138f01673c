import { stringify } from 'yaml';
import type { Sandbox } from './types.ts';

/** Generous, since the sandbox is on loopback; the sandbox's own limit is used where it has one. */
const REQUESTS_PER_SECOND = 500;

export interface SandboxConfigOptions {
  readonly sandbox: Pick<Sandbox, 'urls' | 'tokens'>;
  readonly organization: string;
  /** Services whose leaf certificates are read. */
  readonly services: readonly string[];
  readonly isHashicorp: boolean;
  readonly rate: number | undefined;
}

/** The text of a complete `tidemark.yaml` for the sandbox's five services. It contains the tokens: they open nothing else. */
export function renderConfig({
  sandbox: { urls, tokens },
  organization,
  services,
  isHashicorp,
  rate,
}: SandboxConfigOptions): string {
  const common = {
    limits: { requestsPerSecond: rate ?? REQUESTS_PER_SECOND, concurrency: 8 },
    ...(isHashicorp ? { flavor: 'hashicorp' } : {}),
  };
  const access = (kind: keyof typeof tokens) => ({ token: tokens[kind].read, writeToken: tokens[kind].write });
  const document = {
    data: './data',
    output: './out',
    targets: [
      { name: 'acme', kind: 'platform', url: urls.platform, organization, ...access('platform'), ...common },
      { name: 'vault', kind: 'secrets', url: urls.secrets, ...access('secrets'), ...common },
      {
        name: 'nomad',
        kind: 'scheduler',
        url: urls.scheduler,
        ...access('scheduler'),
        // Nomad lists all policies to management tokens only.
        ...(isHashicorp ? { managementToken: 'lists all ACL policies' } : {}),
        namespace: '*',
        ...common,
      },
      { name: 'scaler', kind: 'autoscaler', url: urls.autoscaler, ...common },
      { name: 'consul', kind: 'mesh', url: urls.mesh, ...access('mesh'), services: [...services], ...common },
    ],
  };
  return stringify(document, { aliasDuplicateObjects: false });
}
