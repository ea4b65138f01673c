import { at, listAt, textAt } from './answers.ts';

/** One allocation's claim on a volume, as reading the volume shows it; what the scheduler has forgotten is null. */
export type Claim = {
  readonly allocation_id: string;
  readonly node_id: string | null;
  readonly client_status: string | null;
};

const ENDED = ['complete', 'failed', 'lost'];

/** The claims of a read volume; null where the service tells none of its claim maps. */
export function claimsOf(volume: unknown): readonly Claim[] | null {
  const maps = ['ReadAllocs', 'WriteAllocs'].map((name) => at(volume, name));
  if (maps.every((map) => map === undefined)) return null;
  const listed = new Map((listAt(volume, 'Allocations') ?? []).map((item) => [textAt(item, 'ID'), item]));
  const claims = new Map<string, Claim>();
  for (const [id, spelled] of maps.flatMap((map) => Object.entries(map ?? {}))) {
    const allocation = spelled ?? listed.get(id);
    claims.set(id, {
      allocation_id: id,
      node_id: textAt(allocation, 'NodeID'),
      client_status: textAt(allocation, 'ClientStatus'),
    });
  }
  return [...claims.values()];
}

export function hasEnded({ client_status }: Claim): boolean {
  return client_status !== null && ENDED.includes(client_status);
}
