import { DAY_MS, HOUR_MS, pem } from '../forge.ts';
import { createRandom } from '../prng.ts';
import type { Leaf, MeshState } from './state.ts';

/** The services with certificates worth watching; the last is nasty on purpose. */
export const MESH_SERVICES: readonly string[] = ['web', 'api', 'billing', `checkout "β", <b>`];

/** Days a new leaf is good for; the agent's default, 72 hours, for all others. */
const LEAF_DAYS: Readonly<Record<string, number>> = { api: 90, billing: 33, [MESH_SERVICES[3]!]: 365 };

function colonHex(serial: bigint): string {
  const digits = serial.toString(16).padStart(16, '0');
  return (digits.match(/../g) ?? []).join(':');
}

function issueLeaf(seed: number, state: MeshState, service: string, now: Date): Leaf {
  state.serial += 1n;
  state.index += 1;
  const random = createRandom(`${seed}/mesh/leaf/${service}/${state.serial}`);
  const days = LEAF_DAYS[service] ?? 3;
  return {
    service,
    serialNumber: colonHex(state.serial),
    certPem: pem('CERTIFICATE', random, 7),
    privateKeyPem: pem('EC PRIVATE KEY', random, 3),
    validAfter: new Date(now.getTime() - HOUR_MS),
    validBefore: new Date(now.getTime() + days * DAY_MS - HOUR_MS),
    index: state.index,
  };
}

const keyOf = (namespace: string, service: string): string => JSON.stringify([namespace, service]);

/** The certificate that the agent holds for a service, whether the catalog knows it or not; the first ask creates it. */
export function leafOf(seed: number, state: MeshState, namespace: string, service: string, now: Date): Leaf {
  const key = keyOf(namespace, service);
  const leaf = state.leaves.get(key) ?? issueLeaf(seed, state, service, now);
  state.leaves.set(key, leaf);
  return leaf;
}

/** A certificate is renewed when a tenth of its time or less is left (mesh rule 4 names no number). */
export function renewLeaves(seed: number, state: MeshState, now: Date): void {
  for (const [key, leaf] of state.leaves) {
    const lifeMs = leaf.validBefore.getTime() - leaf.validAfter.getTime();
    const leftMs = leaf.validBefore.getTime() - now.getTime();
    if (leftMs <= lifeMs / 10) state.leaves.set(key, issueLeaf(seed, state, leaf.service, now));
  }
}
