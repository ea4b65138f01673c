import type { Random } from '../random.ts';
import {
  ANONYMOUS_READ,
  ANONYMOUS_WRITE,
  GIB,
  type PolicyPlan,
  readNamespace,
  type SchedulerEstate,
  type VolumePlan,
  type VolumeUse,
} from './estate.ts';
import { CEPH, EBS, HEX, NFS } from './plugins.ts';

const VOLUMES: readonly VolumePlan[] = [
  { id: 'ledger-postgres', namespace: 'payments', plugin: EBS, gib: 400, use: 'app', backup: 'regular', leaky: true },
  { id: 'cart-redis', namespace: 'storefront', plugin: EBS, gib: 16, use: 'ended', backup: 'regular' },
  { id: 'fraud-reports', namespace: 'payments', plugin: CEPH, gib: 60, use: 'ended', backup: 'regular' },
  { id: 'order-queue', namespace: 'storefront', plugin: HEX, gib: 40, use: 'mixed', backup: 'regular' },
  { id: 'search-index', namespace: 'storefront', plugin: EBS, gib: 250, use: 'ghost', backup: 'regular' },
  { id: 'media-originals', namespace: 'storefront', plugin: EBS, gib: 800, use: 'idle', backup: 'none', missing: true },
  { id: 'edge-logs', namespace: 'observability', plugin: HEX, gib: 120, use: 'idle', backup: 'none', missing: true },
  {
    id: 'label-printer-spool',
    namespace: 'logistics',
    plugin: CEPH,
    gib: 8,
    use: 'app',
    backup: 'none',
    missing: true,
  },
  { id: 'invoice-archive', namespace: 'payments', plugin: EBS, gib: 200, use: 'app', backup: 'none' },
  { id: 'wiki-attachments', plugin: HEX, gib: 30, use: 'app', backup: 'stopped' },
  { id: 'product-catalog', namespace: 'storefront', plugin: CEPH, gib: 90, use: 'app', backup: 'unready' },
  {
    id: 'training-scratch',
    namespace: 'ml',
    plugin: EBS,
    gib: 500,
    use: 'idle',
    backup: 'regular',
    unschedulable: true,
  },
  { id: 'mail-spool', plugin: HEX, gib: 20, use: 'app', backup: 'regular', exhausted: true },
  {
    id: 'audit-archive',
    plugin: EBS,
    gib: 300,
    use: 'readers',
    backup: 'regular',
    abnormal: 'impaired: I/O is disabled until the volume is checked',
  },
  { id: 'home-directories', plugin: NFS, gib: 1000, use: 'readers', backup: 'none' },
  { id: 'etl-scratch', namespace: 'data', plugin: NFS, gib: 500, use: 'app', backup: 'none' },
];

/** Applications with a namespace and the usual capacity in GiB. */
const APPS: readonly (readonly [app: string, namespace: string, gib: number])[] = [
  ['kafka', 'data', 500],
  ['mysql', 'storefront', 100],
  ['grafana', 'observability', 10],
  ['redis', 'storefront', 16],
  ['minio', 'data', 1000],
  ['gitea', 'default', 80],
  ['etcd', 'default', 8],
  ['loki', 'observability', 400],
  ['nexus', 'default', 200],
  ['mongo', 'logistics', 120],
  ['rabbitmq', 'logistics', 20],
  ['tempo', 'observability', 150],
];
const USES: readonly VolumeUse[] = ['app', 'app', 'app', 'readers', 'idle'];

function ordinaryVolume(index: number, random: Random): VolumePlan {
  const [app, namespace, gib] = APPS[index % APPS.length]!;
  const id = `${app}-data-${Math.floor(index / APPS.length) + 1}`;
  return { id, namespace, gib, plugin: random.pick([EBS, HEX, CEPH]), use: random.pick(USES), backup: 'regular' };
}

const ALL_WRITE = 'namespace "*" {\n  policy = "write"\n}\nnode {\n  policy = "write"\n}\n';

const POLICIES: readonly PolicyPlan[] = [
  ['anonymous', 'Read-only access without a token', ANONYMOUS_READ],
  ['ci-deploy', 'Submits jobs from the pipeline', 'namespace "*" {\n  capabilities = ["submit-job", "read-job"]\n}\n'],
  [
    'csi-operator',
    'Registers and detaches volumes',
    'namespace "*" {\n  capabilities = ["csi-write-volume"]\n}\nplugin {\n  policy = "read"\n}\n',
  ],
  ['dashboards', 'Reads jobs for the dashboards', readNamespace('observability')],
  ['on-call', 'Everything that on-call may do', ALL_WRITE],
  [
    'payments-web',
    'Reads the variables of one task',
    readNamespace('payments'),
    { Namespace: 'payments', JobID: 'checkout', Group: 'main', Task: 'server' },
  ],
  ['data-etl', 'Reads the variables of one job', readNamespace('data'), { Namespace: 'data', JobID: 'etl' }],
  ['no-description', '', readNamespace('default')],
];

const TEAMS = ['payments', 'storefront', 'logistics', 'data', 'ml', 'observability', 'identity', 'mobile'];

/** The scheduler of the company: volumes of usual sizes in the namespaces of its teams. */
export const COMPANY_SCHEDULER: SchedulerEstate = {
  volumes: VOLUMES,
  ordinaryVolume,
  capacityBytes: ({ gib = 100 }) => BigInt(gib) * GIB,
  stoppedBackup: 'wiki-attachments',
  unhealthyVolume: 'training-scratch',
  policies: POLICIES,
  extraPolicy: (index) => {
    const team = TEAMS[index % TEAMS.length]!;
    const name = index < TEAMS.length ? `team-${team}` : `team-${team}-${Math.floor(index / TEAMS.length) + 1}`;
    return [name, `What the team ${team} may read`, readNamespace(team)];
  },
  // Opened the night after the incident, and not closed within the fortnight.
  anonymousRules: { 0: ANONYMOUS_READ, 9: ANONYMOUS_WRITE },
  rack: 'r12',
  leftoverStatus: 'available, no tags',
  impairedStatus: 'impaired: latency above the limit of the provider',
  snapshotNote: 'before the migration',
};
