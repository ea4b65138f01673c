import { z } from 'zod';
import type { Target } from '../../config/config.ts';
import { type ArgIssue, type Args, filledText, optionalText, type RequestDraft, requiredBody } from '../operation.ts';

/** Request bodies. Unknown fields are accepted, since services add fields. */

const bytes = z.union([z.int().nonnegative(), z.bigint().nonnegative()], 'must be a number of bytes').optional();
const textMap = z.record(z.string(), z.string(), 'must be a map of text to text').nullish();

const jobAcl = z
  .looseObject({ Namespace: optionalText, JobID: optionalText, Group: optionalText, Task: optionalText })
  .superRefine(({ Namespace, JobID, Group, Task }, context) => {
    const need = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message });
    if (!JobID) need('JobID', 'is required to use JobACL');
    if (JobID && !Namespace) need('Namespace', 'is required when JobID is set');
    if (Task && !Group) need('Group', 'is required when Task is set');
  });

export const policy = requiredBody(
  z.looseObject({ Name: filledText, Description: optionalText, Rules: filledText, JobACL: jobAcl.nullish() }),
  '{"Name": "readonly", "Rules": "namespace \\"default\\" { policy = \\"read\\" }"}',
);

/** Services reject a name that differs from the one in the path, or write another policy: docs/services/scheduler.md#acl-policies. */
export function validatePolicy(args: Args, body: unknown, target: Target): ArgIssue[] {
  const problems: ArgIssue[] = [];
  const name = (body as { Name?: unknown } | undefined)?.Name;
  if (typeof name === 'string' && name !== '' && name !== args.policy_name) {
    problems.push({ path: 'body.Name', message: `must equal policy_name, ${String(args.policy_name)}` });
  }
  const known = /^[a-zA-Z0-9-]{1,128}$/u.test(String(args.policy_name ?? ''));
  if (target.flavor === 'hashicorp' && !known) {
    problems.push({ path: 'policy_name', message: 'may contain 1 to 128 letters, digits and `-`' });
  }
  return problems;
}

const capability = z.looseObject({ AccessMode: optionalText, AttachmentMode: optionalText });
const volume = z.looseObject({
  ID: filledText,
  Name: optionalText,
  Namespace: optionalText,
  PluginID: optionalText,
  RequestedCapabilities: z.array(capability, 'must be a list of {AccessMode, AttachmentMode}').nullish(),
  // A flat map, or in Nomad a map under `Segments`.
  Topologies: z.array(z.record(z.string(), z.unknown()).nullable(), 'must be a list of topologies').nullish(),
  Secrets: textMap,
});
const volumes = <T extends z.ZodType>(item: T) =>
  z.looseObject({ Volumes: z.array(item, 'is required: a list of volumes').min(1, 'must not be empty') });

export const registerVolume = requiredBody(
  volumes(volume.extend({ ExternalID: optionalText })),
  '{"Volumes": [{"ID": "db", "Name": "db", "ExternalID": "vol-1", "PluginID": "aws-ebs0"}]}',
);
const newVolume = volume.extend({
  MountOptions: z.looseObject({ FsType: optionalText, MountFlags: z.array(z.string()).nullish() }).nullish(),
  RequestedCapacityMin: bytes,
  RequestedCapacityMax: bytes,
  SnapshotID: optionalText,
});
export const createVolume = requiredBody(
  volumes(newVolume),
  '{"Volumes": [{"ID": "db", "Name": "db", "PluginID": "aws-ebs0", "RequestedCapacityMin": 1073741824}]}',
);

const snapshot = z.looseObject({
  SourceVolumeID: filledText,
  PluginID: optionalText,
  Name: optionalText,
  Secrets: textMap,
  Parameters: textMap,
});
export const createSnapshot = requiredBody(
  z.looseObject({ Snapshots: z.array(snapshot, 'is required: a list of snapshots').min(1, 'must not be empty') }),
  '{"Snapshots": [{"SourceVolumeID": "db", "PluginID": "aws-ebs0", "Name": "nightly"}]}',
);

/** The real product reads the ID from the body only, so that both must match: docs/services/scheduler.md#volumes. */
export function validateVolumeId(list: 'Volumes' | 'Snapshots', field: 'ID' | 'SourceVolumeID') {
  return (args: Args, body: unknown): ArgIssue[] => {
    const items = (body as Record<string, unknown> | undefined)?.[list];
    return (Array.isArray(items) ? items : []).flatMap((item: Record<string, unknown>, index) =>
      typeof item?.[field] !== 'string' || item[field] === args.volume_id
        ? []
        : [{ path: `body.${list}[${index}].${field}`, message: `must equal volume_id, ${String(args.volume_id)}` }],
    );
  };
}

const HEX_BYTES = /^(?:[0-9a-f]{2})*$/iu;

/**
 * A prefix is decoded to bytes (docs/services/scheduler.md#prefixes). The real product does not require it, and its plugin IDs
 * are names, so that `plugin_id` gives only a warning.
 */
export function validatePrefixes(args: Args, _body: unknown, target: Target): ArgIssue[] {
  if (target.flavor === 'hashicorp') return [];
  const message = 'must be an even number of hexadecimal characters';
  const odd = (name: string) => args[name] !== undefined && !HEX_BYTES.test(String(args[name]));
  const plugin = 'is not hexadecimal, as the API documents require of a prefix';
  return [
    ...(odd('node_id') ? [{ path: 'node_id', message }] : []),
    ...(odd('plugin_id') ? [{ path: 'plugin_id', message: plugin, isWarning: true }] : []),
  ];
}

/** In the namespace `*`, the real product returns an empty list for a plugin: docs/services/scheduler.md#prefixes. */
export function validatePluginOfList(args: Args, body: unknown, target: Target): ArgIssue[] {
  const lost = args.plugin_id !== undefined && (args.namespace ?? target.namespace) === '*';
  if (target.flavor !== 'hashicorp' || !lost) return validatePrefixes(args, body, target);
  return [{ path: 'plugin_id', message: 'finds nothing in the namespace `*`: choose one namespace', isWarning: true }];
}

/**
 * Nomad reads CSI secrets from a header. It would ignore the query parameter, which access logs would show:
 * docs/services/scheduler.md#snapshots.
 */
export function toHashicorpSecretsHeader(draft: RequestDraft): RequestDraft {
  const secrets = draft.query.find(([name]) => name === 'secrets')?.[1];
  if (secrets === undefined || secrets === '') return draft;
  return {
    ...draft,
    query: draft.query.filter(([name]) => name !== 'secrets'),
    headers: { ...draft.headers, 'X-Nomad-CSI-Secrets': secrets },
  };
}
