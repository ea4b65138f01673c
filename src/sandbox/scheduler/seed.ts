import { DAY_MS, HOUR_MS } from '../../core/clock.ts';
import { daysBefore, HOSTILE_TEXTS, type Random, scaleCount, uuid } from '../random.ts';
import type { ServiceOptions } from '../types.ts';
import type { Allocations, ClaimMode } from './allocations.ts';
import type { SchedulerContext } from './context.ts';
import { addExternal, addSnapshot, CEPH, EBS, HEX, NFS, type Plugins, type StoragePlugin } from './plugins.ts';
import type { JobAcl, Policies, Policy } from './policies.ts';
import { DEFAULT_DEFINITION, type VolumeRecord, type Volumes } from './volumes.ts';

/** The records of the scheduler, for the generator of its data. */
export interface SchedulerRecords {
  readonly context: SchedulerContext;
  readonly policies: Policies;
  readonly plugins: Plugins;
  readonly allocations: Allocations;
  readonly volumes: Volumes;
}

export const GIB = 1024n ** 3n;

/** About 40 volumes, 120 snapshots and 14 policies at scale 1, over four plugins and three namespaces. */
export function seedScheduler(records: SchedulerRecords, { scale, start }: ServiceOptions, random: Random): void {
  for (const policy of planPolicies(scale)) records.policies.records.set(policy.name, policy);
  for (const [slot, plan] of planVolumes(scaleCount(42, scale), random).entries()) {
    seedVolume(records, random, plan, slot, start);
  }
  seedLeftovers(records, random, start);
}

function seedVolume(records: SchedulerRecords, random: Random, plan: VolumePlan, slot: number, start: Date): void {
  const plugin = records.plugins.named(plan.plugin)!;
  // One capacity is beyond 2^53, as the 64 bits of the field allow.
  const capacity = slot === 0 ? 9_007_199_254_740_993n : BigInt(random.int(1, 512)) * GIB;
  const external = addExternal(plugin, random, capacity);
  const volume = createVolume(records, random, plan, external.id, slot);
  if (plan.exhausted) volume.exhaustedAt = daysBefore(start, 1.5);
  if (plan.abnormal !== undefined) Object.assign(external, { abnormal: true, status: plan.abnormal });
  records.volumes.set(volume);
  seedClaims(records.allocations, random, volume, plan.use, start);
  seedSnapshots(plugin, random, volume, plan.backup, start);
  if (plan.missing) plugin.externals.delete(external.id);
}

function createVolume(
  { context, plugins }: SchedulerRecords,
  random: Random,
  plan: VolumePlan,
  externalId: string,
  slot: number,
): VolumeRecord {
  const writer = { AccessMode: 'single-node-writer', AttachmentMode: 'file-system' };
  const shared = { AccessMode: 'multi-node-single-writer', AttachmentMode: 'block-device' };
  const index = context.nextIndex();
  const controllers = plan.plugin === NFS ? 0 : 2;
  return {
    id: plan.id,
    namespace: plan.namespace ?? 'default',
    name: plan.name ?? plan.id,
    externalId,
    pluginId: plugins.flavorId(plan.plugin),
    topologies:
      plan.plugin === NFS
        ? []
        : [{ 'topology.kubernetes.io/zone': `eu-central-1${random.pick(['a', 'b', 'c'])}`, rack: 'R "1"' }],
    capabilities: plan.use === 'readers' ? [shared, writer] : [writer],
    schedulable: plan.unschedulable !== true,
    controllersHealthy: plan.unschedulable ? 0 : controllers,
    controllersExpected: controllers,
    nodesHealthy: context.nodes.length,
    nodesExpected: context.nodes.length,
    exhaustedAt: null,
    claims: [],
    secrets: plan.leaky ? { password: `planted-volume-secret-${random.hex(16)}` } : null,
    backupSlot: plan.backup === 'regular' ? slot % BACKUP_DAYS : null,
    createIndex: index,
    modifyIndex: index,
    definition: DEFAULT_DEFINITION,
  };
}

function seedClaims(allocations: Allocations, random: Random, volume: VolumeRecord, use: VolumeUse, start: Date): void {
  const begin = (mode: ClaimMode) => allocations.start(random, volume, mode, randomTimeBefore(start, 60, random));
  const endedAt = new Date(start.getTime() - 9 * HOUR_MS);
  if (use === 'app' || use === 'mixed') begin('write');
  if (use === 'readers') for (let reader = random.int(1, 3); reader > 0; reader--) begin('read');
  if (use === 'ended')
    for (const status of ['lost', 'failed'] as const) allocations.end(begin('write'), status, endedAt);
  if (use === 'mixed') allocations.end(begin('write'), 'complete', endedAt);
  if (use === 'ghost') volume.claims.push({ allocationId: uuid(random), mode: 'read' });
}

/** A time between one and `days` days before. */
function randomTimeBefore(now: Date, days: number, random: Random): Date {
  return new Date(now.getTime() - DAY_MS - random.int(0, (days - 1) * 24) * HOUR_MS);
}

/** The snapshots of a volume on day 0: the last ones of its rounds, or as the plan requires. */
function seedSnapshots(
  plugin: StoragePlugin,
  random: Random,
  volume: VolumeRecord,
  backup: BackupPlan,
  start: Date,
): void {
  const external = plugin.externals.get(volume.externalId);
  if (!external || backup === 'none') return;
  const newestDays = backup === 'stopped' ? 5 : (volume.backupSlot ?? 2);
  for (let round = 2; round >= 0; round--) {
    const at = new Date(start.getTime() - (newestDays + round * BACKUP_DAYS) * DAY_MS - random.int(20, 90) * 60_000);
    addSnapshot(plugin, random, external, at).ready = backup !== 'unready';
  }
}

/** What remains in the storage: unregistered volumes, snapshots older than 90 days, snapshots of deleted volumes. */
function seedLeftovers({ plugins, volumes }: SchedulerRecords, random: Random, start: Date): void {
  const ebs = plugins.named(EBS)!;
  addExternal(ebs, random, 40n * GIB);
  addExternal(plugins.named(HEX)!, random, 7n * GIB).status = HOSTILE_TEXTS[0]!;
  addExternal(plugins.named(CEPH)!, random, 120n * GIB);
  const backedUp = [...volumes.records.values()].filter(({ backupSlot }) => backupSlot !== null);
  const agesDays = [87.5, 88.5, 93, 101, 140, 188, 263, 377, 512];
  for (const [index, age] of agesDays.entries()) {
    const volume = backedUp[index * 2]!;
    const source = volumes.external(volume);
    const plugin = plugins.records.get(volume.pluginId)!;
    if (source) addSnapshot(plugin, random, source, daysBefore(start, age), { tier: 'archive' });
  }
  for (const age of [12, 45, 160]) {
    const deleted = { id: `vol-0${random.hex(16)}`, capacityBytes: 64n * GIB };
    addSnapshot(ebs, random, deleted, daysBefore(start, age), { note: HOSTILE_TEXTS[0]! });
  }
}

/** A volume with backups gets a snapshot once in so many days: always within the seven days of the rule. */
export const BACKUP_DAYS = 6;

/** `app` has a running writer, `ended` only claims of ended allocations, `ghost` a claim of an unknown allocation. */
type VolumeUse = 'app' | 'readers' | 'idle' | 'ended' | 'mixed' | 'ghost';
type BackupPlan = 'regular' | 'none' | 'stopped' | 'unready';

interface VolumePlan {
  readonly id: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly plugin: string;
  readonly use: VolumeUse;
  readonly backup: BackupPlan;
  /** No longer in the storage provider. */
  readonly missing?: true;
  readonly unschedulable?: true;
  readonly exhausted?: true;
  readonly abnormal?: string;
  /** The server returns its secrets. */
  readonly leaky?: true;
}

export const STOPPED_BACKUP = 'stopped-wiki';
export const UNHEALTHY_VOLUME = 'unschedulable-ml';
const BATCH = 'batch-β';

/** The volumes that the rules are about. */
const VOLUME_PLANS: readonly VolumePlan[] = [
  { id: 'postgres-main', plugin: EBS, use: 'app', backup: 'regular', leaky: true },
  { id: 'lost-cache', plugin: EBS, use: 'ended', backup: 'regular' },
  { id: 'lost-reports', namespace: 'prod', plugin: CEPH, use: 'ended', backup: 'regular' },
  { id: 'mixed-queue', plugin: HEX, use: 'mixed', backup: 'regular' },
  { id: 'ghost-claim', plugin: EBS, use: 'ghost', backup: 'regular' },
  { id: 'missing-media', plugin: EBS, use: 'idle', backup: 'none', missing: true },
  { id: 'missing-logs', namespace: 'prod', plugin: HEX, use: 'idle', backup: 'none', missing: true },
  { id: 'missing-but-used', plugin: CEPH, use: 'app', backup: 'none', missing: true },
  { id: 'unprotected-ledger', plugin: EBS, use: 'app', backup: 'none' },
  { id: STOPPED_BACKUP, plugin: HEX, use: 'app', backup: 'stopped' },
  { id: 'unready-search', plugin: CEPH, use: 'app', backup: 'unready' },
  { id: UNHEALTHY_VOLUME, namespace: 'prod', plugin: EBS, use: 'idle', backup: 'regular', unschedulable: true },
  { id: 'exhausted-spool', plugin: HEX, use: 'app', backup: 'regular', exhausted: true },
  { id: 'abnormal-archive', plugin: EBS, use: 'readers', backup: 'regular', abnormal: HOSTILE_TEXTS[2]! },
  { id: 'nfs-home', plugin: NFS, use: 'readers', backup: 'none' },
  { id: 'nfs-scratch', namespace: BATCH, plugin: NFS, use: 'app', backup: 'none' },
  { id: `vol "quoted", ünï & <b>`, name: HOSTILE_TEXTS[1]!, plugin: CEPH, use: 'app', backup: 'regular' },
  { id: `=1+cmd|' calc'!A0`, name: HOSTILE_TEXTS[3]!, namespace: BATCH, plugin: EBS, use: 'app', backup: 'regular' },
  { id: '資料-🌊', name: HOSTILE_TEXTS[4]!, plugin: HEX, use: 'readers', backup: 'regular' },
  { id: `long-${'x'.repeat(200)}`, name: HOSTILE_TEXTS[7]!, plugin: EBS, use: 'idle', backup: 'regular' },
];

const APPS = [
  'kafka',
  'mysql',
  'grafana',
  'redis',
  'minio',
  'gitea',
  'etcd',
  'loki',
  'nexus',
  'mongo',
  'rabbit',
  'tempo',
];
const USES: readonly VolumeUse[] = ['app', 'app', 'app', 'readers', 'idle'];

function ordinaryVolumePlan(index: number, random: Random): VolumePlan {
  const id = `${APPS[index % APPS.length]}-data-${Math.floor(index / APPS.length) + 1}`;
  const namespace = random.pick(['default', 'default', 'prod', BATCH]);
  return { id, namespace, plugin: random.pick([EBS, HEX, CEPH]), use: random.pick(USES), backup: 'regular' };
}

/** The plans of `count` volumes: the special ones first, then ordinary ones. */
function planVolumes(count: number, random: Random): VolumePlan[] {
  return Array.from(
    { length: count },
    (_, slot) => VOLUME_PLANS[slot] ?? ordinaryVolumePlan(slot - VOLUME_PLANS.length, random),
  );
}

export const ANONYMOUS_READ = `namespace "default" {
  policy = "read"
}

node {
  policy = "read"
}
`;

export const ANONYMOUS_WRITE = `# opened for the migration, close again!
namespace "default" {
  policy       = "write"
  capabilities = ["submit-job", "csi-write-volume"]
}

node {
  policy = "read"
}
`;

/** The same in JSON, which the specification allows, too. */
export const ANONYMOUS_WRITE_JSON = JSON.stringify({
  namespace: { default: { policy: 'read', capabilities: ['list-jobs', 'submit-job'] } },
  agent: { policy: 'write' },
});

function readPolicy(namespace: string): string {
  return `namespace "${namespace}" {\n  policy = "read"\n}\n`;
}

type PolicyPlan = readonly [name: string, description: string, rules: string, jobAcl?: JobAcl];

const POLICY_PLANS: readonly PolicyPlan[] = [
  ['anonymous', 'Allow read-only access for anonymous requests', ANONYMOUS_WRITE],
  ['ci-deploy', 'Submits jobs from the pipeline', 'namespace "*" {\n  capabilities = ["submit-job", "read-job"]\n}\n'],
  [
    'csi-operator',
    HOSTILE_TEXTS[0]!,
    'namespace "*" {\n  capabilities = ["csi-write-volume"]\n}\nplugin {\n  policy = "read"\n}\n',
  ],
  ['dashboards', HOSTILE_TEXTS[1]!, readPolicy('default')],
  ['on-call', HOSTILE_TEXTS[2]!, 'namespace "*" {\n  policy = "write"\n}\nnode {\n  policy = "write"\n}\n'],
  ['finance', HOSTILE_TEXTS[3]!, readPolicy('finance')],
  ['bahnhof', HOSTILE_TEXTS[4]!, readPolicy('prod')],
  ['no-description', '', readPolicy('batch')],
  [
    'secrets-web',
    'Reads the variables of one task',
    readPolicy('prod'),
    { Namespace: 'prod', JobID: 'web', Group: 'main', Task: 'server' },
  ],
  ['secrets-batch', 'Reads the variables of one job', readPolicy('batch'), { Namespace: 'batch', JobID: 'etl' }],
  ['json-rules', 'Rules in JSON', JSON.stringify({ namespace: { prod: { policy: 'read' } } })],
];

/** About a dozen ACL policies at scale 1, one of them `anonymous` with more than read access. */
function planPolicies(scale: number): Policy[] {
  const teams = Array.from({ length: scaleCount(14, scale) - POLICY_PLANS.length }, (_, index): PolicyPlan => {
    const team = `team-${index + 1}`;
    return [team, `What ${team} may do`, readPolicy(team)];
  });
  return [...POLICY_PLANS, ...teams].map(([name, description, rules, jobAcl = null], index) => {
    const createIndex = 11 + index * 3;
    return { name, description, rules, jobAcl, createIndex, modifyIndex: createIndex };
  });
}
