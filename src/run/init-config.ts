import { dirname, resolve } from 'node:path';
import { stringify } from 'yaml';
import { createTargets, type Target, type TargetKind } from '../config/config.ts';
import { withEnvFile } from '../config/references.ts';
import type { Context, ServiceContext } from '../core/context.ts';
import { formatError } from '../core/errors.ts';
import { sources as builtInSources } from '../extract/sources/index.ts';
import type { ServiceClients } from '../services/client.ts';
import { type Availability, createProbeClients, probeTarget, type SourceProbe } from './doctor/probe-sources.ts';

/** A target as `tidemark init` receives it. */
export interface InitTarget {
  readonly kind: TargetKind;
  readonly url: string;
  readonly organization?: string;
  readonly services?: readonly string[];
}

/** A target of the new configuration, and what its service has. `missingVariable`: what it needs and what is not set; null if there is none. */
export type ProbedTarget = Readonly<Awaited<ReturnType<typeof describeTarget>>>;

/** The name of a target, the variable with its token, the question for its URL, and the variable of the vendor's client with the URL. */
type KindDefaults = Readonly<Record<'name' | 'question', string> & Record<'variable' | 'address', string | null>>;

export const DEFAULTS: Readonly<Record<TargetKind, KindDefaults>> = {
  platform: { name: 'platform', variable: 'TFE_TOKEN', question: '  its URL', address: 'TFE_ADDRESS' },
  secrets: { name: 'vault', variable: 'VAULT_TOKEN', question: 'Vault: URL', address: 'VAULT_ADDR' },
  scheduler: { name: 'nomad', variable: 'NOMAD_TOKEN', question: 'Nomad: URL', address: 'NOMAD_ADDR' },
  autoscaler: { name: 'scaler', variable: null, question: 'Nomad Autoscaler: URL', address: null },
  mesh: { name: 'consul', variable: 'CONSUL_HTTP_TOKEN', question: 'Consul agent: URL', address: 'CONSUL_HTTP_ADDR' },
  registry: {
    name: 'registry',
    variable: null,
    question: 'Terraform registry, such as https://registry.terraform.io: URL',
    address: null,
  },
};

type ProbeContext = ServiceContext & Pick<Context, 'cwd' | 'configFile' | 'signal'>;

/** Asks each service what it has. Reads the tokens from the environment and `.env`; nothing is changed. */
export async function probeTargets(context: ProbeContext, given: readonly InitTarget[]) {
  const clients = createProbeClients({ maxWait: 10 }, context);
  try {
    return await Promise.all(given.map((target) => describeTarget(context, clients, target)));
  } finally {
    await clients.close();
  }
}

async function describeTarget(context: ProbeContext, clients: ServiceClients, given: InitTarget) {
  const { kind, organization } = given;
  const { variable } = DEFAULTS[kind];
  const name = organization ?? DEFAULTS[kind].name;
  const env = withEnvFile(dirname(resolve(context.cwd, context.configFile)), context.env);
  const token = variable === null ? undefined : env[variable];
  const document = toDocument(given, name, Boolean(token) || isRequired(kind));
  const unknown = { name, document, missingVariable: null, without: [], unread: [] };
  if (isRequired(kind) && !token) return { ...unknown, missingVariable: variable, problem: `${variable} is not set` };
  const [target] = createTargets([{ ...document, token: token || undefined }]) as [Target];
  const probe = (probed: Target) => probeTarget(clients.get(probed), builtInSources, context.redactor);
  const first = await probe(target);
  const isListed = first.isLacking;
  const listed = { ...target, name: `${name} (list)`, explorer: 'workspaces' } as const;
  const { probes, noService } = isListed ? await probe(listed) : first;
  if (!token && variable !== null && probes.some(({ availability }) => availability === 'refused')) {
    const problem = `it refuses requests without a token, and ${variable} is not set`;
    return { ...unknown, document: toDocument(given, name, true), missingVariable: variable, problem };
  }
  if (noService) return { ...unknown, problem: formatError(noService) };
  return { name, missingVariable: null, ...describeProbes(document, probes, isListed) };
}

/** A target as YAML contains it. */
function toDocument({ kind, url, organization, services }: InitTarget, name: string, needsToken: boolean) {
  const { variable } = DEFAULTS[kind];
  return {
    name,
    kind,
    url,
    ...(organization !== undefined && { organization }),
    ...(variable !== null && needsToken && { token: `\${${variable}}` }),
    ...(kind === 'scheduler' && { namespace: '*' }),
    ...(services && services.length > 0 && { services: [...services] }),
    flavor: 'hashicorp',
  };
}

function describeProbes(document: ReturnType<typeof toDocument>, probes: readonly SourceProbe[], isListed: boolean) {
  const select = (...wanted: readonly Availability[]) =>
    probes.filter(({ availability }) => wanted.includes(availability)).map(({ source }) => source.name);
  const without = select('absent');
  const mounts = Object.assign({}, ...probes.map(({ mount }) => mount ?? {})) as object;
  return {
    document: {
      ...document,
      ...(isListed && { explorer: 'workspaces' }),
      ...(Object.keys(mounts).length > 0 && { mounts }),
      ...(without.length > 0 && { without }),
    },
    /** Why the service could not be asked; null if it was. */
    problem: select('permitted', 'partial', 'absent').length > 0 ? null : (probes[0]?.detail ?? 'it has no sources'),
    /** Sources that the service does not have. */
    without,
    /** Sources that could not be read, so that nothing is known of them. */
    unread: select('refused', 'failed'),
  };
}

function isRequired(kind: TargetKind): boolean {
  return kind === 'platform' || kind === 'secrets';
}

/** The template with these targets in place of its examples; with the examples where there are none. */
export function renderConfigFile(template: string, targets: readonly ProbedTarget[]): string {
  if (targets.length === 0) return template;
  const start = template.indexOf('targets:\n');
  const end = template.indexOf('# mail:');
  const list = targets.map(({ document, problem, name }) => {
    const note = problem === null ? '' : `  # ${`${name} was not asked: ${problem}`.replaceAll(/\s+/gu, ' ')}\n`;
    const lines = stringify([document], { flowCollectionPadding: false, collectionStyle: 'any' }).trimEnd();
    return `${note}${lines.replaceAll(/^/gmu, '  ')}\n`;
  });
  return `${template.slice(0, start)}targets:\n${list.join('\n')}\n${template.slice(end)}`;
}

/** The template with the variables that the targets do not refer to as comments. */
export function renderEnvExample(template: string, targets: readonly ProbedTarget[]): string {
  if (targets.length === 0) return template;
  const used = new Set(targets.map(({ document }) => document.token));
  return template.replaceAll(/^(\w+)=/gmu, (line, name: string) => (used.has(`\${${name}}`) ? line : `# ${line}`));
}
