import type { Flavor } from '../types.ts';
import type { JobAcl } from './records.ts';

export const GIB = 1024n ** 3n;

/** `app` has a running writer, `ended` only claims of ended allocations, `ghost` a claim of an unknown allocation. */
export type VolumeUse = 'app' | 'readers' | 'idle' | 'ended' | 'mixed' | 'ghost';
export type BackupPlan = 'regular' | 'none' | 'stopped' | 'unready';

export interface VolumePlan {
  readonly id: string;
  readonly name?: string;
  readonly namespace?: string | undefined;
  readonly plugin: string;
  /** Capacity in GiB; without it a random one. */
  readonly gib?: number | undefined;
  /** Capacity in bytes, where it is no number of GiB. */
  readonly bytes?: string;
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

/** The part of an estate's file that is about the scheduler. */
export interface SchedulerEstate {
  /** The IDs of plugins with another ID than their name. */
  readonly plugins: Readonly<Record<Flavor, Readonly<Record<string, string>>>>;
  /** The volumes that the rules are about. */
  readonly volumes: readonly VolumePlan[];
  /** Ordinary applications with a namespace and the usual capacity in GiB. */
  readonly apps: readonly (readonly [app: string, namespace?: string, gib?: number])[];
  /** Those of applications without one. */
  readonly namespaces: readonly string[];
  /** Teams that have policies in a larger estate; without any, numbered ones. */
  readonly teams: readonly string[];
  /** The volume whose backups have stopped. */
  readonly stoppedBackup: string;
  /** The volume whose controllers fail. */
  readonly unhealthyVolume: string;
  readonly policies: readonly PolicyPlan[];
  /** The rules of the policy `anonymous`, by the day of a fortnight on which they change. */
  readonly anonymousRules: Readonly<Record<number, string>>;
  readonly rack: string;
  /** What the provider says about a volume that nobody registered, and about one that is impaired. */
  readonly leftoverStatus: string;
  readonly impairedStatus: string;
  /** The note of a snapshot that somebody made by hand. */
  readonly snapshotNote: string;
}
