import {
  DEAD_AGENTS,
  EXPERIMENT,
  type Place,
  type PlatformEstate,
  type PlatformEvent,
  type PoolPlan,
  planErroredView,
  planViews,
} from './estate.ts';
import { closePool, closeView, driftSome, openPool, openView, repairSome, upgradeStage } from './events.ts';
import type { Product } from './workspaces.ts';

/** The projects of the company, each with its services. */
const SERVICES: Readonly<Record<string, readonly string[]>> = {
  'platform-core': ['eks', 'nomad', 'consul', 'ci-runners', 'artifact-registry', 'base-images', 'landing-zone'],
  network: ['transit-gateway', 'dns', 'vpn', 'edge', 'egress', 'peering', 'firewall'],
  payments: ['checkout-api', 'ledger', 'payouts', 'fraud-scoring', 'invoicing', 'refunds', 'card-vault'],
  storefront: ['web-shop', 'product-search', 'cart', 'recommendations', 'pricing', 'reviews', 'cms'],
  identity: ['customer-login', 'sso', 'directory', 'access-reviews', 'consent', 'audit-trail', 'device-trust'],
  'data-platform': ['lakehouse', 'kafka', 'airflow', 'dbt', 'streaming', 'data-catalog', 'bi-gateway'],
  observability: ['metrics', 'logs', 'traces', 'alerting', 'status-page', 'synthetic-checks', 'dashboards'],
  logistics: ['shipping', 'tracking', 'warehouse', 'returns', 'routing', 'carriers', 'labels'],
  security: ['vault', 'kms', 'image-scanner', 'siem', 'secret-rotation', 'bastion', 'waf'],
  mobile: ['app-backend', 'push', 'deep-links', 'feature-flags', 'crash-reports', 'app-config', 'sync'],
  'ml-platform': ['feature-store', 'training', 'inference', 'notebooks', 'labeling', 'model-registry', 'experiments'],
  'corporate-it': ['erp', 'intranet', 'mail-relay', 'wiki', 'hr-portal', 'print', 'backup'],
};

const PROJECTS = Object.keys(SERVICES);
const SERVICES_PER_PROJECT = 7;
const STAGES = ['prod', 'staging', 'dev'] as const;
const REGIONS = ['eu-central-1', 'us-east-1', 'eu-west-1', 'us-west-2', 'ap-southeast-1', 'ap-northeast-1'] as const;
/** The parts of a service that have workspaces of their own; the service itself comes first. */
const PARTS = ['', 'db', 'cache', 'queue', 'storage', 'network', 'iam', 'cdn', 'jobs', 'monitoring'] as const;

/**
 * The services of all projects in turn, each on three stages; then the same in the next region, then the next part of each
 * service, then the next cell. So ten workspaces are three complete services, and a million are a larger company.
 */
function place(index: number): Place {
  const [stageTurn, stage] = split(index, STAGES.length);
  const [projectTurn, project] = split(stageTurn, PROJECTS.length);
  const [serviceTurn, service] = split(projectTurn, SERVICES_PER_PROJECT);
  const [regionTurn, region] = split(serviceTurn, REGIONS.length);
  const [cell, part] = split(regionTurn, PARTS.length);
  const words = [SERVICES[PROJECTS[project]!]![service]!, PARTS[part]!, STAGES[stage]!, REGIONS[region]!];
  if (cell > 0) words.push(`c${String(cell + 1).padStart(2, '0')}`);
  return { name: words.filter((word) => word !== '').join('-'), project };
}

/** Quotient and remainder. */
function split(number: number, by: number): readonly [quotient: number, remainder: number] {
  return [Math.floor(number / by), number % by];
}

/** The name of the service without stage and region. */
function repository({ name }: Place): string {
  return `acme/${name.split(/-(?:prod|staging|dev)-/u)[0]}-infra`;
}

/** `cart-dev-eu-central-1` becomes `cart-dev-eu-central-1-v2`, and that `…-v3`. */
function rename(name: string): string {
  const [, stem, version] = /^(.*)-v(\d+)$/u.exec(name) ?? [undefined, name, '1'];
  return `${stem}-v${Number(version) + 1}`;
}

const PROVIDERS: readonly Product[] = [
  { name: 'aws', source: 'hashicorp/aws', registry: 'public', versions: ['5.84.0', '5.100.0', '6.2.0'] },
  { name: 'azurerm', source: 'hashicorp/azurerm', registry: 'public', versions: ['4.9.0', '4.21.0'] },
  { name: 'google', source: 'hashicorp/google', registry: 'public', versions: ['6.30.0'] },
  { name: 'kubernetes', source: 'hashicorp/kubernetes', registry: 'public', versions: ['2.35.1', '2.38.0'] },
  { name: 'vault', source: 'hashicorp/vault', registry: 'public', versions: ['4.8.0', '5.1.0'] },
  { name: 'random', source: 'hashicorp/random', registry: 'public', versions: ['3.7.2'] },
  { name: 'inventory', source: 'acme/inventory', registry: 'private', versions: ['0.9.0', '1.0.0'] },
];

const MODULES: readonly Product[] = [
  { name: 'vpc', source: 'terraform-aws-modules/vpc/aws', registry: 'public', versions: ['5.1.2', '5.10.0'] },
  { name: 'eks', source: 'terraform-aws-modules/eks/aws', registry: 'public', versions: ['20.8.5', '20.37.0'] },
  { name: 'network', source: 'acme/network/azurerm', registry: 'private', versions: ['1.10.0', '2.0.0'] },
  { name: 'baseline', source: 'acme/baseline/aws', registry: 'private', versions: ['1.0.0', '1.4.1'] },
  { name: 'service', source: 'acme/service/aws', registry: 'private', versions: ['3.2.0', '3.3.0'] },
];

const POOLS: readonly PoolPlan[] = [
  { name: 'aws-eu-central-1', isScoped: true, attached: 36, allowed: 0, agents: 9 },
  { name: 'aws-us-east-1', isScoped: false, attached: 12, allowed: 16, agents: 7 },
  { name: 'azure-west-europe', isScoped: false, attached: 9, allowed: 9, agents: 6 },
  { name: 'gcp-europe-west3', isScoped: false, attached: 7, allowed: 9, agents: 4 },
  { name: 'onprem-frankfurt', isScoped: false, attached: 6, allowed: 6, agents: 4 },
  { name: 'payments-restricted', isScoped: false, attached: 4, allowed: 6, agents: 3 },
  { name: 'shared-tools', isScoped: true, attached: 2, allowed: 0, agents: 2 },
  { name: 'old-datacenter', isScoped: false, attached: 0, allowed: 2, agents: 0 },
];

/** The pool whose agents die and stay dead to the end of the fortnight. */
const DEAD_POOL = 'onprem-frankfurt';

const TEMPORARY_VIEW = 'Errored runs since the incident';

/** What happens besides the upgrade, by day of the fortnight. */
const STORY: Readonly<Record<number, readonly PlatformEvent[]>> = {
  2: [openPool(EXPERIMENT), repairSome('storefront', 2)],
  5: [driftSome('data-platform', 'staging', 2)],
  // An incident: resources are changed by hand.
  8: [driftSome('network', 'prod', 5), driftSome('payments', 'prod', 3)],
  9: [openView(planErroredView(TEMPORARY_VIEW)), closePool(EXPERIMENT.name)],
  10: [repairSome('payments', 3)],
  11: [repairSome('network', 3)],
  12: [closeView(TEMPORARY_VIEW)],
  13: [driftSome('observability', 'prod', 1)],
};

/** Days from the upgrade of a team's other stages to that of its production. */
const PRODUCTION_LAG_DAYS = 5;

/**
 * The upgrade: a team a day moves its development and staging workspaces to the newest version, and its production some days
 * later. At the end of the fortnight some production is still to be upgraded.
 */
function upgradesOn(day: number): readonly PlatformEvent[] {
  const upgrade = (index: number, stages: readonly string[]): PlatformEvent[] => {
    const project = index > 0 ? PROJECTS[index] : undefined;
    return project === undefined ? [] : stages.map((stage) => upgradeStage(project, stage));
  };
  return [...upgrade(day, ['dev', 'staging']), ...upgrade(day - PRODUCTION_LAG_DAYS, ['prod'])];
}

const FORTNIGHT = 14;

/** A company with teams, stages and regions, and the story of a fortnight, which repeats. Nobody and nothing in it is real. */
export const COMPANY_PLATFORM: PlatformEstate = {
  projects: PROJECTS,
  place,
  repository,
  rename,
  runStatuses: spread({ applied: 15, planned_and_finished: 3, errored: 1, discarded: 1 }),
  laterRunStatuses: spread({ applied: 12, planned_and_finished: 4, errored: 2, discarded: 1 }),
  driftedShare: 0.05,
  toolVersions: [
    ['1.5.7', 4],
    ['1.9.8', 82],
    ['1.11.4', 12],
    ['1.13.5', 2],
  ],
  newestTool: '1.13.5',
  toolReleases: [],
  pilots: ['platform-core'],
  providers: PROVIDERS,
  modules: MODULES,
  pools: POOLS,
  extraPool: (index) => {
    const [turn, region] = split(index, REGIONS.length);
    return { name: `cell-${turn + 1}-${REGIONS[region]}`, isScoped: false, attached: 8, allowed: 10, agents: 4 };
  },
  agentName: (random) => `tfc-agent-${random.hex(6)}`,
  agentLife: {
    initial: [0.62, 0.98, 1, 1],
    becomesUnknown: 0.01,
    exits: 0.005,
    unknownRecovers: 0.8,
    erroredRecovers: 0.3,
    replaced: 0.4,
    diedDaysAgo: 0.7,
  },
  deadAgents: DEAD_AGENTS,
  plantedAgentNames: [],
  views: planViews({
    failing: 'Failing checks in production',
    tools: 'Terraform versions',
    aws: 'AWS provider versions',
    modules: 'Private modules',
    unassessed: 'Not assessed for drift',
    gone: 'decommissioned-2024',
  }),
  eventsOn: (day) => [...upgradesOn(day % FORTNIGHT), ...(STORY[day % FORTNIGHT] ?? [])],
  outages: [{ pool: DEAD_POOL, from: 10, to: 13 }],
};

/** Each name as often as its number says. */
function spread(counts: Readonly<Record<string, number>>): readonly string[] {
  return Object.entries(counts).flatMap(([name, count]) => Array.from({ length: count }, () => name));
}
