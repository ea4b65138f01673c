import { ORGANIZATION_ACCESS } from '../../services/rights.ts';
import type { NeededRight, TokenRights } from './collect.ts';

/** The rights of a token in the language of its service, ready to use. */
export interface PermissionText {
  readonly target: string;
  readonly kind: string;
  readonly token: 'token' | 'writeToken';
  /** What to do with the text, such as `vault policy write tidemark FILE`. */
  readonly usage: string;
  /** HCL, or lines for the platform; comments say what needs each right. */
  readonly text: string;
}

export function formatPermissions(needed: TokenRights): PermissionText {
  const { target, token } = needed;
  const { usage, lines } = FORMATS[target.kind](needed);
  const notes = [
    ...needed.rights.flatMap(({ right, neededBy }) =>
      right.scope === 'other' ? [`# ${neededBy.join(', ')}: add the permission "${right.permission}"`] : [],
    ),
    ...needed.unknown.map((name) => `# unknown: the source ${name} does not declare its operations`),
  ];
  return { target: target.name, kind: target.kind, token, usage, text: `${[...lines, ...notes].join('\n')}\n` };
}

interface Format {
  readonly usage: string;
  readonly lines: readonly string[];
}

const NOTHING = ['# no rights are needed'];

const FORMATS: Readonly<Record<TokenRights['target']['kind'], (needed: TokenRights) => Format>> = {
  secrets: formatVaultPolicy,
  scheduler: formatNomadPolicy,
  mesh: formatConsulRules,
  platform: formatTeamAccess,
  autoscaler: () => ({ usage: 'the service takes no token', lines: NOTHING }),
};

function reason({ neededBy }: Pick<NeededRight, 'neededBy'>): string {
  return `# ${neededBy.join(', ')}`;
}

function formatVaultPolicy({ rights, target }: TokenRights): Format {
  const paths = new Map<string, { readonly capabilities: string[]; readonly neededBy: Set<string> }>();
  for (const { right, neededBy } of rights) {
    if (right.scope !== 'path') continue;
    const entry = paths.get(right.path) ?? { capabilities: [], neededBy: new Set() };
    entry.capabilities.push(right.capability);
    for (const name of neededBy) entry.neededBy.add(name);
    paths.set(right.path, entry);
  }
  const lines = [...paths].flatMap(([path, { capabilities, neededBy }]) => [
    reason({ neededBy: [...neededBy] }),
    `path "${path}" {`,
    `  capabilities = [${quoteAll(capabilities)}]`,
    '}',
  ]);
  const namespace = target.namespace === undefined ? '' : ` -namespace=${target.namespace}`;
  return { usage: `vault policy write${namespace} tidemark FILE`, lines: lines.length === 0 ? NOTHING : lines };
}

function quoteAll(names: readonly string[]): string {
  return [...new Set(names)]
    .sort()
    .map((name) => `"${name}"`)
    .join(', ');
}

function formatNomadPolicy({ rights, target }: TokenRights): Format {
  const inNamespace = rights.filter(({ right }) => right.scope === 'namespace');
  const capabilities = inNamespace.flatMap(({ right }) => (right.scope === 'namespace' ? [right.capability] : []));
  const plugin = rights.filter(({ right }) => right.scope === 'plugin');
  const management = rights.filter(({ right }) => right.scope === 'management');
  const lines = [
    ...management.map(
      ({ neededBy }) => `# no policy grants ${neededBy.join(', ')}: use a token of type management, or leave it out`,
    ),
    ...(inNamespace.length === 0
      ? []
      : [reason({ neededBy: [...new Set(inNamespace.flatMap((one) => one.neededBy))] })]),
    ...(capabilities.length === 0
      ? []
      : [`namespace "${target.namespace ?? 'default'}" {`, `  capabilities = [${quoteAll(capabilities)}]`, '}']),
    ...plugin.flatMap(({ right, neededBy }) => [
      reason({ neededBy }),
      'plugin {',
      `  policy = "${right.scope === 'plugin' ? right.policy : ''}"`,
      '}',
    ]),
  ];
  return { usage: 'nomad acl policy apply tidemark FILE', lines: lines.length === 0 ? NOTHING : lines };
}

function formatConsulRules({ rights, target }: TokenRights): Format {
  const lines = rights.flatMap(({ right, neededBy }) => {
    if (right.scope !== 'service') return [];
    const blocks = target.services.map((name) => `service ${JSON.stringify(name)} {\n  policy = "${right.policy}"\n}`);
    return blocks.length === 0 ? [] : [reason({ neededBy }), ...blocks];
  });
  return {
    usage: 'consul acl policy create -name tidemark -rules @FILE',
    lines: lines.length === 0 ? NOTHING : lines,
  };
}

function formatTeamAccess({ rights, target }: TokenRights): Format {
  const lines = rights.flatMap(({ right, neededBy }) =>
    right.scope === 'organization'
      ? [reason({ neededBy }), `${right.access}  (${ORGANIZATION_ACCESS[right.access]})`]
      : [],
  );
  return {
    usage: `organization access of the team that the token belongs to, in ${target.organization}`,
    lines: lines.length === 0 ? NOTHING : lines,
  };
}
