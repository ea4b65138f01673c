/**
 * What the operations return, by resource, or by operation where it differs: for a list the type of an item, otherwise that of the
 * result without its envelope. The fields are those of docs/services; services may send more. Null where a service sends null.
 */
export interface ApiResults {
  'platform.agent-pools': AgentPool;
  'platform.agents': Agent;
  'platform.explorer': ExplorerRow;
  'platform.workspaces': Workspace;
  'platform.views': SavedView;
  'platform.views.results': ExplorerRow;
  'secrets.keys': Key;
  'secrets.kms': KmsProvider;
  'secrets.kms-keys': KeyDistribution;
  'secrets.mesh-roles': MeshRole;
  'secrets.mesh-creds': Text<'token'>;
  'autoscaler.metrics': AutoscalerMetrics;
  'scheduler.policies': AclPolicy;
  'scheduler.policies.read': AclPolicy & Text<'Rules'>;
  'scheduler.volumes': Volume;
  'scheduler.volumes.read': Volume & {
    readonly Allocations?: readonly Fields[] | null;
    readonly ReadAllocs?: Fields | null;
    readonly WriteAllocs?: Fields | null;
  };
  'scheduler.external-volumes': ExternalVolume;
  'scheduler.snapshots': VolumeSnapshot;
  'mesh.connect': Text<'Reason'> & { readonly Authorized: boolean };
  'mesh.ca-roots': CaRoot;
  'mesh.ca-leaf': LeafCertificate;
  'registry.discovery': Fields;
  'registry.providers': Provider;
  'registry.providers.versions': ProviderVersion;
  'registry.modules': ModuleVersions;
}

type Fields = Readonly<Record<string, unknown>>;
type Text<N extends string> = Readonly<Record<N, string>>;
/** Of up to 64 bits: a bigint beyond 2^53. */
export type Integer = number | bigint;
type Integers<N extends string> = Readonly<Record<N, Integer>>;
type Numbers<N extends string> = Readonly<Record<N, number>>;

type Identifier = Text<'id' | 'type'>;
type Resource<A> = Identifier & { readonly attributes: A };
interface Related {
  readonly relationships?: Readonly<Record<string, { readonly data?: readonly Identifier[] | Identifier | null }>>;
}

/** `agent-count` in lists only. */
export type AgentPool = Related &
  Resource<Text<'name' | 'created-at'> & { readonly 'organization-scoped'?: boolean; readonly 'agent-count'?: number }>;

export type Agent = Resource<{
  readonly name: string | null;
  /** `idle`, `busy`, `unknown`, `exited`, `errored`, or another. */
  readonly status: string;
  readonly 'ip-address': string | null;
  readonly 'last-ping-at': string | null;
}>;

/** A row of a view; the names of its fields have hyphens. */
export type ExplorerRow = Resource<Readonly<Record<string, string | number | boolean | null>>>;

/** Services have more attributes, or fewer. */
export type Workspace = Related &
  Resource<
    Text<'name'> &
      Partial<Text<'created-at' | 'updated-at'>> & {
        readonly 'terraform-version'?: string | null;
        readonly 'vcs-repo'?: Partial<Text<'identifier'>> | null;
        readonly 'tag-names'?: readonly string[];
      }
  >;

export type SavedView = Resource<
  Text<'name' | 'query-type'> & Partial<Text<'created-at'>> & { readonly query: Fields }
>;

type KeyVersions = Readonly<Record<string, Text<'creation_time'> & Partial<Text<'public_key'>>>>;

/** The versions are `keys`, by number; `versions` in the real product. */
export type Key = Text<'name' | 'type'> &
  Numbers<'min_enabled_version' | 'latest_version'> & {
    readonly deletion_allowed: boolean;
    readonly keys?: KeyVersions;
    readonly versions?: KeyVersions;
  };

export interface AutoscalerMetrics {
  readonly Timestamp: string;
  readonly Counters?: readonly AutoscalerSample[] | null;
  readonly Gauges?: readonly (Metric & Numbers<'Value'>)[] | null;
  readonly Samples?: readonly AutoscalerSample[] | null;
  readonly Points?: readonly unknown[] | null;
}
type Metric = Text<'Name'> & { readonly Labels: Readonly<Record<string, string>> | null };
type AutoscalerSample = Metric & Numbers<'Count' | 'Rate' | 'Sum' | 'Min' | 'Max' | 'Mean' | 'Stddev'>;

export type AclPolicy = Text<'Name'> &
  Integers<'CreateIndex' | 'ModifyIndex'> & {
    readonly Description?: string;
    readonly JobACL?: Partial<Text<'Namespace' | 'JobID' | 'Group' | 'Task'>> | null;
  };

export type Volume = Text<
  'ID' | 'ExternalID' | 'Namespace' | 'Name' | 'AccessMode' | 'AttachmentMode' | 'PluginID' | 'Provider'
> &
  Numbers<'ControllersHealthy' | 'ControllersExpected' | 'NodesHealthy' | 'NodesExpected'> &
  Integers<'CreateIndex' | 'ModifyIndex'> & { readonly Schedulable: boolean; readonly ControllerRequired: boolean };

export type KmsProvider = Text<'name' | 'provider' | 'key_collection'>;

export type KeyDistribution = Text<'name' | 'protection'> & {
  readonly purpose: string | readonly string[];
  readonly versions: Fields;
};

export type MeshRole = Partial<Text<'token_type' | 'policy'>> & { readonly lease?: string | number };

export type ExternalVolume = Text<'ExternalID' | 'SnapshotID' | 'Status'> & {
  readonly CapacityBytes: Integer;
  readonly PublishedExternalNodeIDs: readonly string[] | null;
  readonly IsAbnormal: boolean;
};

export type VolumeSnapshot = Text<'ID' | 'ExternalSourceVolumeID'> &
  Partial<Text<'PluginID'>> &
  Integers<'SizeBytes' | 'CreateTime'> & { readonly IsReady: boolean };

export type CaRoot = Text<'ID' | 'Name' | 'SigningKeyID' | 'NotBefore' | 'NotAfter' | 'RootCert' | 'PrivateKeyType'> & {
  readonly SerialNumber: Integer;
  readonly Active: boolean;
  readonly PrivateKeyBits: number;
};

export type LeafCertificate = Text<
  'SerialNumber' | 'CertPEM' | 'PrivateKeyPEM' | 'Service' | 'ServiceURI' | 'ValidAfter' | 'ValidBefore'
>;

export type ProviderVersion = Text<'version'> & { readonly protocols?: readonly string[] };

export type ModuleVersions = {
  readonly versions: readonly (Text<'version'> & {
    readonly deprecation?: (Text<'reason'> & Partial<Text<'link'>>) | null;
  })[];
};

/** The warning is empty where there is none. */
export type Provider = Resource<Text<'namespace' | 'name'> & { readonly warning: string | null }>;
