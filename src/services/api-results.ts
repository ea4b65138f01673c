/**
 * What the operations return, by name: for a list the type of an item, otherwise that of the result without its envelope.
 * The fields are those of docs/services; services may send more. Null where a service sends null.
 */
export interface ApiResults {
  'platform.agent-pools.list': AgentPool;
  'platform.agent-pools.show': AgentPool;
  'platform.agent-pools.create': AgentPool;
  'platform.agent-pools.update': AgentPool;
  'platform.agents.list': Agent;
  'platform.agents.show': Agent;
  'platform.explorer.query': ExplorerRow;
  'platform.explorer.export': string;
  'platform.workspaces.list': Workspace;
  'platform.views.list': SavedView;
  'platform.views.show': SavedView;
  'platform.views.create': SavedView;
  'platform.views.update': SavedView;
  'platform.views.delete': SavedView;
  'platform.views.results': ExplorerRow;
  'platform.views.csv': string;
  'secrets.keys.list': string;
  'secrets.keys.read': Key;
  'secrets.keys.providers': string;
  'secrets.kms.list': string;
  'secrets.kms.read': KmsProvider;
  'secrets.kms-keys.list': string;
  'secrets.kms-keys.read': KeyDistribution;
  'secrets.mesh-roles.list': string;
  'secrets.mesh-roles.read': MeshRole;
  'secrets.mesh-creds.generate': { readonly token: string };
  'autoscaler.health.read': { readonly alive: boolean };
  'autoscaler.metrics.read': AutoscalerMetrics;
  'scheduler.policies.list': AclPolicy;
  'scheduler.policies.read': AclPolicy & { readonly Rules: string };
  'scheduler.volumes.list': Volume;
  'scheduler.volumes.read': Volume & VolumeClaims;
  'scheduler.external-volumes.list': ExternalVolume;
  'scheduler.snapshots.list': VolumeSnapshot;
  'mesh.connect.authorize': { readonly Authorized: boolean; readonly Reason: string };
  'mesh.ca-roots.read': CaRoot;
  'mesh.ca-leaf.read': LeafCertificate;
  'registry.discovery.read': Readonly<Record<string, unknown>>;
  'registry.providers.versions': ProviderVersion;
  'registry.providers.read': Provider;
  'registry.modules.versions': ModuleVersions;
}

/** An integer of up to 64 bits: a bigint beyond 2^53. */
export type Integer = number | bigint;

interface Resource<A> {
  readonly id: string;
  readonly type: string;
  readonly attributes: A;
}

interface Identifier {
  readonly id: string;
  readonly type: string;
}

/** docs/services/platform.md#agent-pools */
export interface AgentPool
  extends Resource<{
    readonly name: string;
    readonly 'created-at': string;
    readonly 'organization-scoped'?: boolean;
    /** In lists only. */
    readonly 'agent-count'?: number;
  }> {
  readonly relationships?: Readonly<Record<string, { readonly data?: readonly Identifier[] | Identifier | null }>>;
}

/** docs/services/platform.md#agents */
export type Agent = Resource<{
  readonly name: string | null;
  /** `idle`, `busy`, `unknown`, `exited`, `errored`, or another. */
  readonly status: string;
  readonly 'ip-address': string | null;
  readonly 'last-ping-at': string | null;
}>;

/** A row of a view; the names of its fields have hyphens: docs/services/platform.md#explorer-views */
export type ExplorerRow = Resource<Readonly<Record<string, string | number | boolean | null>>>;

/** docs/services/platform.md#list-of-workspaces; services have more attributes, or fewer. */
export interface Workspace
  extends Resource<{
    readonly name: string;
    readonly 'created-at'?: string;
    readonly 'updated-at'?: string;
    readonly 'terraform-version'?: string | null;
    readonly 'vcs-repo'?: { readonly identifier?: string } | null;
    readonly 'tag-names'?: readonly string[];
  }> {
  readonly relationships?: Readonly<Record<string, { readonly data?: Identifier | readonly Identifier[] | null }>>;
}

/** docs/services/platform.md#saved-views */
export type SavedView = Resource<{
  readonly name: string;
  readonly 'created-at'?: string;
  readonly 'query-type': string;
  readonly query: Readonly<Record<string, unknown>>;
}>;

interface KeyVersion {
  readonly creation_time: string;
  readonly public_key?: string;
}

/** docs/services/secrets.md#keys */
export interface Key {
  readonly name: string;
  readonly type: string;
  readonly deletion_allowed: boolean;
  readonly min_enabled_version: number;
  readonly latest_version: number;
  /** By number of the version; `versions` in the real product. */
  readonly keys?: Readonly<Record<string, KeyVersion>>;
  readonly versions?: Readonly<Record<string, KeyVersion>>;
}

/** docs/services/secrets.md#kms-providers */
export interface KmsProvider {
  readonly name: string;
  readonly provider: string;
  readonly key_collection: string;
}

/** docs/services/secrets.md#key-distributions */
export interface KeyDistribution {
  readonly name: string;
  readonly protection: string;
  readonly purpose: string | readonly string[];
  readonly versions: Readonly<Record<string, unknown>>;
}

/** docs/services/secrets.md#mesh-roles */
export interface MeshRole {
  readonly token_type?: string;
  readonly policy?: string;
  readonly lease?: string | number;
}

/** docs/services/autoscaler.md#metrics */
export interface AutoscalerMetrics {
  readonly Timestamp: string;
  readonly Counters?: readonly AutoscalerSample[] | null;
  readonly Gauges?: readonly { readonly Name: string; readonly Labels: MetricLabels; readonly Value: number }[] | null;
  readonly Samples?: readonly AutoscalerSample[] | null;
  readonly Points?: readonly unknown[] | null;
}

type MetricLabels = Readonly<Record<string, string>> | null;

interface AutoscalerSample {
  readonly Name: string;
  readonly Labels: MetricLabels;
  readonly Count: number;
  readonly Rate: number;
  readonly Sum: number;
  readonly Min: number;
  readonly Max: number;
  readonly Mean: number;
  readonly Stddev: number;
}

/** docs/services/scheduler.md#acl-policies */
export interface AclPolicy {
  readonly Name: string;
  readonly Description?: string;
  readonly JobACL?: {
    readonly Namespace?: string;
    readonly JobID?: string;
    readonly Group?: string;
    readonly Task?: string;
  } | null;
  readonly CreateIndex: Integer;
  readonly ModifyIndex: Integer;
}

/** docs/services/scheduler.md#volumes */
export interface Volume {
  readonly ID: string;
  readonly ExternalID: string;
  readonly Namespace: string;
  readonly Name: string;
  readonly AccessMode: string;
  readonly AttachmentMode: string;
  readonly Schedulable: boolean;
  readonly PluginID: string;
  readonly Provider: string;
  readonly ControllerRequired: boolean;
  readonly ControllersHealthy: number;
  readonly ControllersExpected: number;
  readonly NodesHealthy: number;
  readonly NodesExpected: number;
  readonly CreateIndex: Integer;
  readonly ModifyIndex: Integer;
}

interface VolumeClaims {
  readonly Allocations?: readonly Readonly<Record<string, unknown>>[] | null;
  readonly ReadAllocs?: Readonly<Record<string, unknown>> | null;
  readonly WriteAllocs?: Readonly<Record<string, unknown>> | null;
}

/** docs/services/scheduler.md#external-volumes */
export interface ExternalVolume {
  readonly ExternalID: string;
  readonly CapacityBytes: Integer;
  readonly SnapshotID: string;
  readonly PublishedExternalNodeIDs: readonly string[] | null;
  readonly IsAbnormal: boolean;
  readonly Status: string;
}

/** docs/services/scheduler.md#snapshots */
export interface VolumeSnapshot {
  readonly ID: string;
  readonly ExternalSourceVolumeID: string;
  readonly PluginID?: string;
  readonly SizeBytes: Integer;
  readonly CreateTime: Integer;
  readonly IsReady: boolean;
}

/** docs/services/mesh.md#ca-roots */
export interface CaRoot {
  readonly ID: string;
  readonly Name: string;
  readonly SerialNumber: Integer;
  readonly SigningKeyID: string;
  readonly NotBefore: string;
  readonly NotAfter: string;
  readonly RootCert: string;
  readonly Active: boolean;
  readonly PrivateKeyType: string;
  readonly PrivateKeyBits: number;
}

/** docs/services/mesh.md#leaf-certificates */
export interface LeafCertificate {
  readonly SerialNumber: string;
  readonly CertPEM: string;
  readonly PrivateKeyPEM: string;
  readonly Service: string;
  readonly ServiceURI: string;
  readonly ValidAfter: string;
  readonly ValidBefore: string;
}

/** docs/services/registry.md#versions */
export interface ProviderVersion {
  readonly version: string;
  readonly protocols?: readonly string[];
}

/** docs/services/registry.md#dates-and-warnings */
export type Provider = Resource<{
  readonly namespace: string;
  readonly name: string;
  /** Empty where there is none. */
  readonly warning: string | null;
}>;

/** docs/services/registry.md#versions */
export interface ModuleVersions {
  readonly versions: readonly {
    readonly version: string;
    readonly deprecation?: { readonly reason: string; readonly link?: string } | null;
  }[];
}
