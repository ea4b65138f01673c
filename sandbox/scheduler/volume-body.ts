import { words } from '../random.ts';
import { HttpError } from '../responses.ts';
import type { Flavor } from '../types.ts';
import { type Body, bytesField, mapField, objectsField, stringField } from './context.ts';
import type { VolumeCapability, VolumeDefinition } from './records.ts';

/** Every field of a volume in the documents of the two flavors: what is read by the service is no input. */
const FIELDS = words(`
  ID Name Namespace ExternalID PluginID SnapshotID CloneID AccessMode AttachmentMode RequestedCapabilities
  RequestedCapacityMin RequestedCapacityMax RequestedTopologies Topologies MountOptions Secrets Parameters
  Context Type
`);

/** What Nomad returns and does not read: its clients send all fields of their structure, empty ones too. */
const READ_ONLY = words(`
  Allocations ReadAllocs WriteAllocs Schedulable Provider ProviderVersion ControllerRequired ControllersHealthy
  ControllersExpected NodesHealthy NodesExpected ResourceExhausted Capacity CreateIndex ModifyIndex CreateTime
  ModifyTime ExtraKeysHCL
`);

/** @throws HttpError 400 for a field that would not be kept */
export function refuseUnknownFields(item: Body, flavor: Flavor): void {
  const known = flavor === 'spec' ? FIELDS : [...FIELDS, ...READ_ONLY];
  const unknown = Object.keys(item).find((field) => !known.includes(field));
  if (unknown !== undefined) throw new HttpError(400, `unknown field ${unknown}`);
}

/** FSType is FsType in the specification; Go reads both. */
export function parseDefinition(item: Body): VolumeDefinition {
  const options = item.MountOptions as Body | null | undefined;
  const flags = options?.MountFlags;
  return {
    capacityMin: bytesField(item, 'RequestedCapacityMin'),
    capacityMax: bytesField(item, 'RequestedCapacityMax'),
    mountOptions: options
      ? {
          FSType: stringField(options, 'FSType') || stringField(options, 'FsType'),
          MountFlags: Array.isArray(flags) ? flags.map(String) : [],
        }
      : null,
    parameters: item.Parameters ? mapField(item, 'Parameters') : null,
    context: item.Context ? mapField(item, 'Context') : null,
    requestedTopologies: item.RequestedTopologies ?? null,
    cloneId: stringField(item, 'CloneID'),
    snapshotId: stringField(item, 'SnapshotID'),
  };
}

export function parseCapabilities(item: Body): VolumeCapability[] {
  return objectsField(item, 'RequestedCapabilities').map((capability) => ({
    AccessMode: stringField(capability, 'AccessMode'),
    AttachmentMode: stringField(capability, 'AttachmentMode'),
  }));
}

/** Flat maps, or Nomad's `{Segments: {…}}`. */
export function parseTopologies(item: Body): Record<string, string>[] {
  return objectsField(item, 'Topologies').map((entry) =>
    mapField('Segments' in entry ? entry : { Segments: entry }, 'Segments'),
  );
}
