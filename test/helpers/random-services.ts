import { createRandom, type SimulatedHeaders, type SimulatedLimit, type SimulatedService } from './rate-simulation.ts';

export interface RandomService {
  readonly name: string;
  readonly service: SimulatedService;
  readonly share: number;
  readonly count: number;
  /** Multiple of the floor that is allowed. */
  readonly bound: number;
}

type Kind = SimulatedLimit['kind'];

/** Which headers each kind of limit may wear, and the multiple of the floor that is allowed. */
const FORMS: readonly (readonly [Kind, SimulatedHeaders, number])[] = [
  ['window', 'float', 1.1],
  ['window', 'seconds', 1.1],
  ['window', 'epoch', 1.1],
  ['sliding', 'float', 1.25],
  ['bucket', 'constant', 1.25],
  ['bucket', 'until-full', 1.25],
  ['bucket', 'until-next', 1.25],
  ['bucket', 'seconds', 1.25],
  ['bucket', 'epoch', 1.25],
  ['window', 'none', 1.25],
  ['sliding', 'none', 1.25],
  ['bucket', 'none', 1.25],
  ['bucket', 'retry-after', 1.25],
  ['window', 'generous', 2.5],
  ['bucket', 'generous', 2.5],
  ['bucket', 'frozen', 2.5],
  ['bucket', 'random', 2.5],
];

/** Services whose limits, headers, clocks, latencies and other clients are random, but the same each time. */
export function randomServices(count: number): readonly RandomService[] {
  const random = createRandom(20_261_120);
  const between = (low: number, high: number) => low + random() * (high - low);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  return Array.from({ length: count }, (_, index) => {
    const [kind, headers, bound] = FORMS[index % FORMS.length]!;
    const hasOthers = random() < 0.25;
    const limit = randomLimit(kind, headers, hasOthers, between, pick);
    const perSecond = limit.kind === 'bucket' ? limit.perSecond : (limit.limit / limit.lengthMs) * 1000;
    const windowMs = limit.kind === 'window' ? limit.lengthMs : Number.POSITIVE_INFINITY;
    const service: SimulatedService = {
      limit,
      headers,
      othersPerSecond: hasOthers ? perSecond * between(0.05, 0.2) : 0,
      skewMs: headers === 'epoch' ? between(-90_000, 90_000) : 0,
      // Eight requests at a time must be able to reach the limit, and see more than one round trip of a window.
      latencyMs: Math.min(between(4, 160), 6000 / perSecond, windowMs / 25),
      seed: index + 1,
    };
    const perWindow = limit.kind === 'bucket' ? limit.capacity : limit.limit;
    const requests = Math.round(Math.max(2000, perSecond * 60, perWindow * 8.5));
    return {
      name: `${kind} ${headers}${hasOthers ? ' others' : ''}`,
      service,
      share: pick([0.9, 1]),
      count: requests,
      bound,
    };
  });
}

function windowLengths(kind: Kind, headers: SimulatedHeaders): readonly number[] {
  if (kind === 'sliding') return [1000, 2000];
  // Whole seconds say nothing about shorter windows.
  return headers === 'epoch' || headers === 'seconds' ? [30_000, 60_000] : [1000, 1000, 2000, 10_000, 60_000];
}

function randomLimit(
  kind: Kind,
  headers: SimulatedHeaders,
  hasOthers: boolean,
  between: (low: number, high: number) => number,
  pick: <T>(list: readonly T[]) => T,
): SimulatedLimit {
  if (kind === 'bucket') {
    const perSecond = Math.round(between(3, 60));
    // Where others take every second token, nobody can know whether the next one is left.
    const least = hasOthers ? Math.max(10, perSecond / 2) : 4;
    return { kind, perSecond, capacity: Math.round(Math.max(least, perSecond * between(0.1, 3))) };
  }
  // Without headers a window of many seconds looks like an outage.
  const lengthMs = headers === 'none' || headers === 'generous' ? 1000 : pick(windowLengths(kind, headers));
  const limit = Math.round((between(hasOthers ? 20 : 5, 60) * lengthMs) / 1000);
  return kind === 'sliding' ? { kind, limit, lengthMs } : { kind, limit, lengthMs, isAligned: pick([true, false]) };
}
