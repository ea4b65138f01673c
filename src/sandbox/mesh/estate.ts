import { DAY_MS, HOSTILE_TEXTS, HOUR_MS, pem, uuid } from '../forge.ts';
import { createRandom, type Random } from '../prng.ts';
import { leafOf, MESH_SERVICES, renewLeaves } from './leaves.ts';
import type { Intention, MeshState, Root } from './state.ts';

const ROOT_DAYS = 60;
/** The servers change the active root when it has less than this left. */
const ROTATE_DAYS = 25;

function createRoot(state: MeshState, random: Random, from: Date, days: number, active: boolean): Root {
  state.index += random.int(1, 9);
  const signingKeyId = Array.from({ length: 20 }, () => random.hex(2)).join(':');
  return {
    id: signingKeyId,
    name: state.roots.length === 1 ? HOSTILE_TEXTS[0]! : `Mesh CA Root Cert ${state.roots.length + 1}`,
    // uint64 there: beyond 2^53 on purpose (live-services.md D).
    serialNumber: 10_000_000_000_000_000_001n + BigInt(random.int(0, 999_999)) * 2n,
    signingKeyId,
    notBefore: from,
    notAfter: new Date(from.getTime() + days * DAY_MS),
    rootCert: pem('CERTIFICATE', random, 8),
    privateKeyType: active ? 'ec' : 'rsa',
    privateKeyBits: active ? 256 : 2048,
    intermediates: active ? null : [pem('CERTIFICATE', random, 8)],
    active,
    createIndex: state.index,
    modifyIndex: state.index,
  };
}

function inventIntentions(random: Random): Intention[] {
  const rules: readonly Omit<Intention, 'id' | 'namespace'>[] = [
    { source: 'web', destination: 'api', action: 'allow', permissions: false, precedence: 9 },
    { source: 'web', destination: 'billing', action: 'deny', permissions: false, precedence: 9 },
    { source: 'api', destination: 'billing', action: 'allow', permissions: true, precedence: 9 },
    { source: '*', destination: 'web', action: 'allow', permissions: false, precedence: 8 },
  ];
  return rules.map((rule) => ({ ...rule, namespace: 'default', id: uuid(random) }));
}

/** Three roots: one active, which comes within 30 days of its end after a few nights, one inactive, one about to end. */
export function inventMesh(seed: number, start: Date): MeshState {
  const random = createRandom(`${seed}/mesh/estate`);
  const trustDomain = `${uuid(random)}.consul`;
  const intentions = inventIntentions(random);
  const state: MeshState = { trustDomain, roots: [], leaves: new Map(), intentions, serial: 2n ** 60n + 1n, index: 40 };
  const back = (days: number): Date => new Date(start.getTime() - days * DAY_MS - 3 * HOUR_MS);
  state.roots.push(createRoot(state, random, back(25), ROOT_DAYS, true));
  state.roots.push(createRoot(state, random, back(400), 1825, false));
  state.roots.push(createRoot(state, random, back(343), 365, false));
  for (const service of MESH_SERVICES) leafOf(seed, state, 'default', service, start);
  return state;
}

/**
 * The active root gives way to a new one in time, a root long past its end is dropped once four or more are listed, and
 * leaf certificates are renewed.
 */
export function passMeshNight(seed: number, state: MeshState, night: number, now: Date): void {
  const random = createRandom(`${seed}/mesh/night/${night}`);
  const leftDays = (root: Root): number => (root.notAfter.getTime() - now.getTime()) / DAY_MS;
  const active = state.roots.find((root) => root.active);
  if (active && leftDays(active) < ROTATE_DAYS) {
    const next = createRoot(state, random, now, ROOT_DAYS, true);
    active.active = false;
    active.modifyIndex = next.modifyIndex;
    state.roots.push(next);
  }
  const ended = state.roots.find((root) => leftDays(root) < -30);
  if (ended && state.roots.length > 3) state.roots = state.roots.filter((root) => root !== ended);
  renewLeaves(seed, state, now);
}
