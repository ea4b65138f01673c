import { z } from 'zod';
import type { Target } from '../../config/config.ts';
import type { ArgIssue, Args } from '../operation.ts';

/** Bodies of scheduler-autoscaler-mesh.md; fields it does not list are let through, since services add fields. */

const filled = z.string('is required').min(1, 'must not be empty');
const text = z.string('must be text').optional();
const bytes = z.union([z.int().nonnegative(), z.bigint().nonnegative()], 'must be a number of bytes').optional();
const textMap = z.record(z.string(), z.string(), 'must be a map of text to text').nullish();

const jobAcl = z
  .looseObject({ Namespace: text, JobID: text, Group: text, Task: text })
  .superRefine(({ Namespace, JobID, Group, Task }, context) => {
    const need = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message });
    if (!JobID) need('JobID', 'is required to use JobACL');
    if (JobID && !Namespace) need('Namespace', 'is required when JobID is set');
    if (Task && !Group) need('Group', 'is required when Task is set');
  });

export const policyBody = z.looseObject({ Name: filled, Description: text, Rules: filled, JobACL: jobAcl.nullish() });

/** A name that differs from the path's would be refused, or would write another policy (live-services.md C2). */
export function validatePolicy(args: Args, body: unknown, target: Target): ArgIssue[] {
  const problems: ArgIssue[] = [];
  const name = (body as { Name?: unknown } | undefined)?.Name;
  if (typeof name === 'string' && name !== '' && name !== args.policy_name) {
    problems.push({ path: 'body.Name', message: `must equal policy_name, ${String(args.policy_name)}` });
  }
  const known = /^[a-zA-Z0-9-]{1,128}$/u.test(String(args.policy_name ?? ''));
  if (target.flavor === 'hashicorp' && !known) {
    problems.push({ path: 'policy_name', message: 'may hold 1 to 128 letters, digits and `-`' });
  }
  return problems;
}

const capability = z.looseObject({ AccessMode: text, AttachmentMode: text });
const volume = z.looseObject({
  ID: filled,
  Name: text,
  Namespace: text,
  PluginID: text,
  RequestedCapabilities: z.array(capability, 'must be a list of {AccessMode, AttachmentMode}').nullish(),
  Secrets: textMap,
});
const volumes = <T extends z.ZodType>(item: T) =>
  z.looseObject({ Volumes: z.array(item, 'is required: a list of volumes').min(1, 'must not be empty') });

export const registerVolumeBody = volumes(volume.extend({ ExternalID: text }));
export const createVolumeBody = volumes(
  volume.extend({
    MountOptions: z.looseObject({ FsType: text, MountFlags: z.array(z.string()).nullish() }).nullish(),
    RequestedCapacityMin: bytes,
    RequestedCapacityMax: bytes,
    SnapshotID: text,
  }),
);

export const createSnapshotBody = z.looseObject({
  Snapshots: z
    .array(
      z.looseObject({ SourceVolumeID: filled, PluginID: text, Name: text, Secrets: textMap, Parameters: textMap }),
      'is required: a list of snapshots',
    )
    .min(1, 'must not be empty'),
});

/** The real product reads the id from the body alone (live-services.md C3): both must mean the same volume. */
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
 * Rule 1 of "Volumes": a prefix is decoded to bytes. The real product does not demand it (live-services.md C3), and its
 * plugin ids are names, so a `plugin_id` only warns.
 */
export function validatePrefixes(args: Args, _body: unknown, target: Target): ArgIssue[] {
  if (target.flavor === 'hashicorp') return [];
  const message = 'must be an even number of hexadecimal characters';
  const odd = (name: string) => args[name] !== undefined && !HEX_BYTES.test(String(args[name]));
  const plugin = 'is not hexadecimal, as the documents want a prefix to be';
  return [
    ...(odd('node_id') ? [{ path: 'node_id', message }] : []),
    ...(odd('plugin_id') ? [{ path: 'plugin_id', message: plugin, isWarning: true }] : []),
  ];
}

/** The real product answers a list by plugin in all namespaces with nothing (live-services.md C3, "plugin_id (list)"). */
export function validateVolumeList(args: Args, body: unknown, target: Target): ArgIssue[] {
  const lost = args.plugin_id !== undefined && (args.namespace ?? target.namespace) === '*';
  if (target.flavor !== 'hashicorp' || !lost) return validatePrefixes(args, body, target);
  return [{ path: 'plugin_id', message: 'finds nothing in the namespace `*`: name a namespace', isWarning: true }];
}
