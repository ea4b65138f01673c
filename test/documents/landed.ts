/**
 * Landed lines of every source, with every field of the API documents and a value for each. `fields.yaml` names the fields by
 * their path here.
 */

type Line = Readonly<Record<string, unknown>>;

const allocation = {
  ID: 'alloc-1',
  EvalID: 'eval-1',
  Name: 'app.main[0]',
  NodeID: 'node-1',
  PreviousAllocation: 'alloc-0',
  NextAllocation: 'alloc-2',
  RescheduleTracker: {
    Events: [{ PrevAllocID: 'alloc-0', PrevNodeID: 'node-0', RescheduleTime: 1790000000000000000, Delay: '30s' }],
  },
  JobID: 'app',
  JobType: 'service',
  NodeName: 'n1',
  TaskGroup: 'main',
  DesiredStatus: 'run',
  DesiredDescription: 'placed',
  ClientStatus: 'running',
  ClientDescription: 'Tasks are running',
  TaskStates: {
    server: {
      State: 'running',
      FinishedAt: '2026-10-01T00:00:03Z',
      LastRestart: '2026-10-01T00:00:02Z',
      StartedAt: '2026-10-01T00:00:01Z',
      Restarts: 1,
      Failed: false,
      Events: [
        {
          Type: 'Received',
          RestartReason: 'a',
          SetupError: 'b',
          DriverError: 'c',
          Message: 'd',
          KillError: 'e',
          KillReason: 'f',
          DownloadError: 'g',
          ValidationError: 'h',
          FailedSibling: 'i',
          StoreError: 'j',
          TaskSignalReason: 'k',
          TaskSignal: 'l',
          DriverMessage: 'm',
          Time: 1790000000000000000,
          ExitCode: 1,
          Signal: 2,
          KillTimeout: 3,
          StartDelay: 4,
          DiskLimit: 5,
          FailsTask: false,
        },
      ],
    },
  },
  CreateIndex: 11,
  ModifyIndex: 12,
  CreateTime: 1790000000000000000,
  ModifyTime: 1790000001000000000,
};

const listedVolume = {
  ID: 'db',
  ExternalID: 'vol-1',
  Namespace: 'default',
  Name: 'database',
  Topologies: [{ zone: 'a' }],
  AccessMode: 'single-node-writer',
  AttachmentMode: 'file-system',
  CurrentReaders: 0,
  CurrentWriters: 1,
  Schedulable: true,
  PluginID: 'ab12',
  Provider: 'ebs',
  ControllerRequired: true,
  ControllersHealthy: 1,
  ControllersExpected: 2,
  NodesHealthy: 3,
  NodesExpected: 4,
  ResourceExhausted: 5,
  CreateIndex: 6,
  ModifyIndex: 7,
};
const { CurrentReaders: _readers, CurrentWriters: _writers, ...shared } = listedVolume;
const readVolume = {
  ...shared,
  RequestedCapabilities: [{ AccessMode: 'single-node-writer', AttachmentMode: 'file-system' }],
  Allocations: [allocation],
  ReadAllocs: { 'alloc-9': null },
  WriteAllocs: { 'alloc-1': null },
  Version: '1.2.3',
  Capacity: 1000,
  RequestedCapacityMin: 100,
  RequestedCapacityMax: 2000,
  MountOptions: { FSType: 'ext4' },
  Parameters: { owner: 'payments' },
  CreateTime: 1790000000000000000,
  ModifyTime: 1790000001000000000,
};

const series = { Count: 1, Labels: { a: 'b' }, Max: 2, Mean: 3, Min: 4, Name: 'n', Rate: 5, Stddev: 6, Sum: 7 };
const time = '2026-10-01T02:03:04.567+00:00';
const used = { workspace_count: 2, workspaces: 'a, b' };

export const landed: Readonly<Record<string, readonly Line[]>> = {
  workspaces: [
    {
      id: 'ws-1',
      type: 'visibility-workspace',
      attributes: {
        'all-checks-succeeded': true,
        current_rum_count: 1,
        'checks-errored': 2,
        'checks-failed': 3,
        'checks-passed': 4,
        'checks-unknown': 5,
        'current-run-applied-at': time,
        'current-run-external-id': 'run-1',
        'current-run-status': 'applied',
        drifted: false,
        'external-id': 'ws-1',
        'module-count': 6,
        modules: 'm',
        'organization-name': 'acme',
        'project-external-id': 'prj-1',
        'project-name': 'web',
        'provider-count': 7,
        providers: 'p',
        'resources-drifted': 8,
        'resources-undrifted': 9,
        'state-version-iac-version': '1.9.0',
        'vcs-repo-identifier': 'acme/web',
        'workspace-created-at': time,
        'workspace-name': 'web-1',
        'workspace-iac-version': '1.9.1',
        'workspace-updated-at': time,
      },
    },
  ],
  tf_versions: [{ id: 'v-1', type: 't', attributes: { version: '1.9.0', ...used } }],
  providers: [{ id: 'p-1', type: 't', attributes: { name: 'aws', source: 's', version: '5.0.0', ...used } }],
  modules: [{ id: 'm-1', type: 't', attributes: { name: 'vpc', source: 's', version: '2.0.0', ...used } }],
  saved_views: [
    {
      body: {
        data: [
          {
            id: 'sq-1',
            type: 'explorer-saved-queries',
            attributes: {
              name: 'drifted',
              'created-at': time,
              'query-type': 'workspaces',
              query: {
                type: 'workspaces',
                filter: [{ field: 'drifted', operator: 'is', value: ['true'] }],
                fields: ['workspace_name'],
                sort: ['-workspace_name'],
              },
            },
          },
        ],
      },
    },
  ],
  saved_view_rows: [
    {
      view_id: 'sq-1',
      offset: 0,
      body: { data: [{ id: 'ws-1', type: 'visibility-workspace', attributes: { 'workspace-updated-at': time } }] },
    },
  ],
  agent_pools: [
    {
      body: {
        data: [
          {
            id: 'apool-1',
            type: 'agent-pools',
            attributes: { name: 'edge', 'created-at': time, 'organization-scoped': true, 'agent-count': 2 },
            relationships: {
              agents: { links: { related: '/agents' } },
              'authentication-tokens': { links: { related: '/tokens' } },
              workspaces: { data: [{ id: 'ws-1', type: 'workspaces' }] },
              'allowed-workspaces': { data: [{ id: 'ws-2', type: 'workspaces' }] },
            },
            links: { self: '/self' },
          },
        ],
      },
    },
  ],
  agents: [
    {
      pool_id: 'apool-1',
      body: {
        data: [
          {
            id: 'agent-1',
            type: 'agents',
            attributes: { name: 'one', status: 'idle', 'ip-address': '192.0.2.1', 'last-ping-at': time },
            links: { self: '/self' },
          },
        ],
      },
    },
  ],
  keys: [
    {
      name: 'k1',
      body: {
        data: {
          name: 'k1',
          type: 'rsa-2048',
          deletion_allowed: false,
          min_enabled_version: 1,
          latest_version: 2,
          keys: { '1': { creation_time: '2026-10-01T02:03:04Z', public_key: 'PEM' } },
        },
      },
    },
  ],
  kms_providers: [{ name: 'kms1', body: { data: { provider: 'awskms', key_collection: 'eu-west-1' } } }],
  key_distributions: [
    {
      name: 'kms1',
      key_name: 'k1',
      body: { data: { name: 'k1-1790000000', protection: 'hsm', purpose: ['encrypt'], versions: { '1': 'v-1' } } },
    },
  ],
  mesh_roles: [{ name: 'r1', body: { data: { policy: 'cG9saWN5', lease: '1h', token_type: 'client' } } }],
  // The first status that is no success is one more.
  autoscaler_health: [{ status: 299, checked_at: '2026-10-01T02:03:04Z' }],
  autoscaler_metrics: [
    {
      body: {
        Counters: [{ ...series, Name: 'c' }],
        Gauges: [{ Labels: { a: 'b' }, Name: 'g', Value: 8 }],
        Points: [{ Name: 'p', Points: [1] }],
        Samples: [{ ...series, Name: 's' }],
        Timestamp: '2026-10-01T02:03:04Z',
      },
    },
  ],
  acl_policies: [
    {
      name: 'ro',
      body: {
        Name: 'ro',
        Description: 'read',
        Rules: 'node { policy = "read" }',
        JobACL: { Namespace: 'default', JobID: 'app', Group: 'main', Task: 'server' },
        CreateIndex: 1,
        ModifyIndex: 2,
      },
    },
  ],
  volumes: [
    { kind: 'list', body: [listedVolume] },
    { kind: 'read', body: readVolume },
  ],
  external_volumes: [
    {
      plugin_id: 'ab12',
      body: {
        Volumes: [
          {
            ExternalID: 'vol-1',
            CapacityBytes: 1000,
            SnapshotID: 'snap-1',
            PublishedExternalNodeIDs: ['i-1'],
            IsAbnormal: false,
            Status: 'slow',
          },
        ],
      },
    },
  ],
  volume_snapshots: [
    {
      plugin_id: 'ab12',
      body: {
        Snapshots: [
          {
            CreateTime: 1790000000,
            SizeBytes: 1000,
            ExternalSourceVolumeID: 'vol-1',
            ID: 'snap-1',
            PluginID: 'ab12',
            IsReady: true,
            Parameters: { tier: 'gold' },
          },
        ],
      },
    },
  ],
  ca_roots: [
    {
      body: {
        ActiveRootID: 'root-1',
        TrustDomain: 'mesh.example',
        Roots: [
          {
            ID: 'root-1',
            Name: 'Root',
            SigningKeyID: 'key-1',
            ExternalTrustDomain: 'mesh',
            NotBefore: '2026-10-01T02:03:04Z',
            NotAfter: '2027-10-01T02:03:04Z',
            RootCert: 'PEM',
            PrivateKeyType: 'ec',
            SerialNumber: 1,
            PrivateKeyBits: 256,
            CreateIndex: 2,
            ModifyIndex: 3,
            IntermediateCerts: ['PEM 1'],
            Active: true,
          },
        ],
      },
    },
  ],
  leaf_certificates: [
    {
      service: 'web',
      body: {
        SerialNumber: '01:02',
        CertPEM: 'PEM',
        PrivateKeyPEM: 'PEM',
        Service: 'web',
        ServiceURI: 'spiffe://mesh/ns/default/dc/dc1/svc/web',
        ValidAfter: '2026-10-01T02:03:04Z',
        ValidBefore: '2026-10-04T02:03:04Z',
        Namespace: 'default',
        CreateIndex: 1,
        ModifyIndex: 2,
      },
    },
  ],
};
