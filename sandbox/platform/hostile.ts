import { HOUR_MS } from '../../src/core/clock.ts';
import type { Random } from '../random.ts';
import { words } from '../random.ts';
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
import { changeView, closePool, closeView, openPool, openView, restrictPool, setAgents } from './events.ts';
import type { Product } from './workspaces.ts';

const PROJECTS: readonly string[] = [
  'payments',
  'platform-core',
  'data lake',
  'identity',
  'customer, portal "beta"',
  '<script>alert(1)</script>',
  "=cmd|' /C calc'!A0",
  '日本語プロジェクト 🚀',
  'مشروع الفوترة',
  "O'Brien & Söhne",
  'two\nlines',
  'edge',
  '\u001b[31mred\u001b[0m alert',
  `the longest name that anyone ever gave a project, ${'and more of it, '.repeat(12)}end`,
];

/** Every thirteenth of the first workspaces has one of these names. */
const HOSTILE_WORKSPACES: readonly string[] = [
  'quote"in-name',
  'comma,in-name',
  '<img src=x onerror=alert(1)>',
  '=HYPERLINK("http://evil.example","open")',
  '+1-800-formula',
  '-2+3',
  '@SUM(A1:A9)',
  'line\nbreak',
  'crlf\r\nbreak',
  '数据平台-生产',
  'שלום-עולם',
  'tab\tname',
  'rtl\u202Egnp.exe',
  "drop'; delete from workspaces; --",
  'null',
  '{{constructor}}',
  `${'very-long-'.repeat(24)}name`,
];

const STAGES = ['prod', 'prod', 'staging', 'dev', 'dr'] as const;
const TEAMS = ['billing', 'search', 'network', 'iam', 'orders', 'ml', 'web', 'mobile', 'risk', 'ops'] as const;
const PARTS = ['api', 'db', 'cluster', 'cdn', 'queue', 'vpc', 'cache', 'jobs', 'dns', 'storage'] as const;

/** Tool versions with their share of the workspaces on day 0. Text order is not semantic order, on purpose. */
const TOOL_VERSIONS: readonly (readonly [version: string, share: number])[] = [
  ['0.15.5', 1],
  ['1.5.7', 8],
  ['1.9.8', 18],
  ['1.9.10', 10],
  ['1.10.0-beta1', 1],
  ['1.10.0-beta10', 1],
  ['1.10.5', 24],
  ['1.11.4', 20],
  ['1.12.2', 15],
  ['1.14.0-rc1', 1],
];

const PROVIDERS: readonly Product[] = [
  { name: 'aws', source: 'hashicorp/aws', registry: 'public', versions: ['4.67.0', '5.9.0', '5.84.0', '6.2.0'] },
  { name: 'azurerm', source: 'hashicorp/azurerm', registry: 'public', versions: ['3.117.1', '4.9.0', '4.21.0'] },
  { name: 'google', source: 'hashicorp/google', registry: 'public', versions: ['5.45.2', '6.30.0'] },
  { name: 'kubernetes', source: 'hashicorp/kubernetes', registry: 'public', versions: ['2.9.0', '2.35.1'] },
  { name: 'random', source: 'hashicorp/random', registry: 'public', versions: ['3.6.3', '3.7.2'] },
  { name: 'datadog', source: 'datadog/datadog', registry: 'public', versions: ['3.9.0', '3.51.0', '4.0.0-rc1'] },
  { name: 'aws', source: 'acme/aws', registry: 'private', versions: ['0.1.0'] },
  { name: 'null', source: 'hashicorp/null', registry: 'public', versions: ['3.2.3'] },
];

const MODULES: readonly Product[] = [
  {
    name: 'vpc',
    source: 'terraform-aws-modules/vpc/aws',
    registry: 'public',
    versions: ['3.19.0', '5.1.2', '5.10.0'],
  },
  { name: 'eks', source: 'terraform-aws-modules/eks/aws', registry: 'public', versions: ['19.21.0', '20.8.5'] },
  { name: 'network', source: 'acme/network/azurerm', registry: 'private', versions: ['1.2.0', '1.10.0', '2.0.0'] },
  { name: 'baseline', source: 'acme/baseline/aws', registry: 'private', versions: ['0.9.1', '1.0.0'] },
  { name: 'iam "strict", v2', source: 'acme/iam-strict/aws', registry: 'private', versions: ['2.4.0'] },
];

const RUN_STATUSES = words(`
  applied applied applied applied planned_and_finished errored discarded
`);

/** Pool names are letters, digits, `-` and `_` only. Each plan serves a rule or a report. */
const POOL_PLANS: readonly PoolPlan[] = [
  { name: 'default', isScoped: true, attached: 36, allowed: 0, agents: 9 },
  { name: 'eu-west-private', isScoped: false, attached: 12, allowed: 16, agents: 7 },
  { name: 'us_east_private', isScoped: false, attached: 9, allowed: 9, agents: 6 },
  { name: 'legacy-dc1', isScoped: true, attached: 3, allowed: 0, agents: 4 },
  { name: 'gpu-batch', isScoped: false, attached: 5, allowed: 5, agents: 4 },
  { name: 'dmz', isScoped: false, attached: 4, allowed: 6, agents: 0 },
  { name: 'sandbox-empty', isScoped: false, attached: 0, allowed: 2, agents: 0 },
  { name: 'audit', isScoped: true, attached: 2, allowed: 0, agents: 3 },
  { name: `pool-with-a-very-long-name-${'x'.repeat(60)}`, isScoped: false, attached: 1, allowed: 3, agents: 3 },
];

const HOSTILE_AGENTS: readonly string[] = [
  "=cmd|' /C calc'!A0",
  '<b onmouseover=alert(1)>agent</b>',
  'agent, "quoted"',
  'エージェント-01',
  'two\nlines',
];

/** Every thirteenth of the first workspaces, and one in a thousand later, has a hostile name. */
function nameWorkspace(index: number, random: Random): string {
  const plain = `${random.pick(TEAMS)}-${random.pick(PARTS)}-${random.pick(STAGES)}-${String(index).padStart(4, '0')}`;
  const hostile = index % 13 === 6 ? HOSTILE_WORKSPACES[(index - 6) / 13] : undefined;
  if (hostile !== undefined) return hostile;
  return index % 997 === 500 ? `"${plain}",=1+1` : plain;
}

function place(index: number, random: Random): Place {
  const name = nameWorkspace(index, random);
  const last = PROJECTS.length - 1;
  return { name, project: Math.min(random.int(0, last), random.int(0, last)) };
}

const TEMPORARY_VIEW = 'Errored runs this week';

/** On some days, so that every rule about pools and views finds and loses something in two weeks. */
const EVENTS: Readonly<Record<number, readonly PlatformEvent[]>> = {
  2: [openPool(EXPERIMENT)],
  3: [setAgents('gpu-batch', 'unknown'), openView(planErroredView(TEMPORARY_VIEW))],
  4: [setAgents('gpu-batch', 'errored')],
  5: [setAgents('gpu-batch', 'errored')],
  6: [setAgents('gpu-batch', 'idle'), changeView(TEMPORARY_VIEW, ['workspace_name', 'current_run_status'])],
  7: [restrictPool('audit')],
  9: [closePool(EXPERIMENT.name)],
  10: [closeView(TEMPORARY_VIEW)],
};

/** An organization whose names are hostile wherever an administrator could type anything, and where much goes wrong. */
export const HOSTILE_PLATFORM: PlatformEstate = {
  projects: PROJECTS,
  place,
  repository: (_place, random) => `acme/${random.pick(TEAMS)}-${random.pick(PARTS)}`,
  rename: (name, random) => `${name.slice(0, 60)}-r${random.int(2, 99)}`,
  runStatuses: RUN_STATUSES,
  laterRunStatuses: ['applied', 'applied', 'applied', 'errored', 'discarded', 'planned_and_finished'],
  driftedShare: 0.11,
  toolVersions: TOOL_VERSIONS,
  newestTool: '1.12.2',
  toolReleases: [
    [3, '1.12.10'],
    [8, '1.14.0'],
  ],
  pilots: [],
  providers: PROVIDERS,
  modules: MODULES,
  pools: POOL_PLANS,
  extraPool: (index) => ({ ...POOL_PLANS[1 + (index % 4)]!, name: `region-${index + 1}` }),
  agentName: (random) => (random.chance(0.12) ? null : `agent-${random.pick(['a', 'b', 'c'])}-${random.hex(6)}`),
  agentLife: {
    initial: [0.5, 0.82, 0.89, 0.95],
    becomesUnknown: 0.05,
    exits: 0.03,
    unknownRecovers: 0.3,
    erroredRecovers: 0.08,
    replaced: 0.12,
    diedDaysAgo: 0.7,
  },
  // The last one has been silent for too short a time.
  deadAgents: [...DEAD_AGENTS, [18, 'unknown', 26 * HOUR_MS], [24, 'errored', 23 * HOUR_MS]],
  plantedAgentNames: HOSTILE_AGENTS,
  views: planViews({
    failing: 'Failing checks, "prod" only',
    tools: 'Tool versions',
    aws: 'aws <script>alert(1)</script>',
    modules: "=cmd|' /C calc'!A0",
    unassessed: '未評価 🚧',
    gone: 'decommissioned-in-2024',
  }),
  eventsOn: (day) => EVENTS[day] ?? [],
  outages: [],
};
