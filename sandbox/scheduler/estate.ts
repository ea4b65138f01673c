import type { Random } from '../random.ts';
import type { JobAcl } from './records.ts';

export const GIB = 1024n ** 3n;

/** `app` has a running writer, `ended` only claims of ended allocations, `ghost` a claim of an unknown allocation. */
export type VolumeUse = 'app' | 'readers' | 'idle' | 'ended' | 'mixed' | 'ghost';
export type BackupPlan = 'regular' | 'none' | 'stopped' | 'unready';

export interface VolumePlan {
  readonly id: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly plugin: string;
  /** Capacity in GiB; without it a random one. */
  readonly gib?: number;
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

export type PolicyPlan = readonly [name: string, description: string, rules: string, jobAcl?: JobAcl];

/** What the generator of the scheduler's data works with. */
export interface SchedulerEstate {
  /** The volumes that the rules are about. */
  readonly volumes: readonly VolumePlan[];
  readonly ordinaryVolume: (index: number, random: Random) => VolumePlan;
  readonly capacityBytes: (plan: VolumePlan, random: Random) => bigint;
  /** The volume whose backups have stopped. */
  readonly stoppedBackup: string;
  /** The volume whose controllers fail. */
  readonly unhealthyVolume: string;
  readonly policies: readonly PolicyPlan[];
  /** A policy that a larger estate has besides. */
  readonly extraPolicy: (index: number) => PolicyPlan;
  /** The rules of the policy `anonymous`, by the day of a fortnight on which they change. */
  readonly anonymousRules: Readonly<Record<number, string>>;
  readonly rack: string;
  /** What the provider says about a volume that nobody registered, and about one that is impaired. */
  readonly leftoverStatus: string;
  readonly impairedStatus: string;
  /** The note of a snapshot that somebody made by hand. */
  readonly snapshotNote: string;
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

export function readNamespace(namespace: string): string {
  return `namespace "${namespace}" {\n  policy = "read"\n}\n`;
}
