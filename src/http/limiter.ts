import pLimit from 'p-limit';
import type { TargetKind } from '../core/config.ts';
import type { Log } from '../core/log.ts';
import { createPace } from './pace.ts';
import { pause } from './pause.ts';
import { type RateTold, rateTold } from './retry-after.ts';
import { seconds } from './timing.ts';

/** One credential's share of a service's rate: every target that uses the credential goes through the same one. */
export interface Limiter {
  /** Waits for the next place. @throws TooLongWait when a hold lasts longer than `maxWaitMs`. */
  place(who: Waiting): Promise<Place>;
  /** Learns from an answer's status and headers. */
  answered(place: number, status: number, headers: Headers): void;
  /** Holds all requests for so long; a little is added, so that they do not all come back at one instant. */
  hold(waitMs: number): void;
}

export interface Place {
  readonly place: number;
  readonly waitedMs: number;
}

export interface Waiting {
  readonly name: string;
  readonly signal: AbortSignal;
  readonly maxWaitMs: number;
  readonly log: Log;
}

export interface LimiterOptions {
  readonly share: number;
  readonly requestsPerSecond?: number | undefined;
  /** Requests a second until the service tells. @default none */
  readonly startPerSecond?: number;
}

/** A hold that outlasts what the configuration allows (`maxWait`). */
export class TooLongWait extends Error {
  readonly askedMs: number;

  constructor(askedMs: number) {
    super(`asked to wait ${seconds(askedMs)}`);
    this.askedMs = askedMs;
  }
}

/** HCP Terraform documents 30 requests a second for each user (live-services.md A2). */
const PLATFORM_PER_SECOND = 30;
/** Shorter waits are the ordinary spacing of requests and not worth a line. */
const WORTH_A_LINE_MS = 1000;
const MAX_JITTER_MS = 100;

/** The limiter a target starts with. */
export function limiterFor(target: {
  readonly kind: TargetKind;
  readonly limits: { readonly requestsPerSecond?: number | undefined; readonly share: number };
}): Limiter {
  const { share, requestsPerSecond } = target.limits;
  return createLimiter({
    share,
    requestsPerSecond,
    ...(target.kind === 'platform' && { startPerSecond: PLATFORM_PER_SECOND * share }),
  });
}

export function createLimiter(options: LimiterOptions): Limiter {
  const pace = createPace({
    share: options.share,
    requestsPerSecond: options.requestsPerSecond,
    startPerSecond: options.startPerSecond ?? Number.POSITIVE_INFINITY,
  });
  /** First come, first served: one request waits for the next place, the others behind it. */
  const queue = pLimit(1);
  /** Ends the wait of that request, to look again. */
  let wake = () => {};

  const nextPlace = async ({ name, signal, maxWaitMs, log }: Waiting): Promise<number> => {
    for (let toldMs = WORTH_A_LINE_MS; ; ) {
      signal.throwIfAborted();
      const { waitMs, place } = pace.take(performance.now());
      if (waitMs <= 0) return place;
      if (waitMs > maxWaitMs + MAX_JITTER_MS) throw new TooLongWait(waitMs);
      if (waitMs >= toldMs) {
        log.info(`${name}: waits ${seconds(waitMs)} for the service's rate limit`);
        toldMs = waitMs;
      }
      await pause(waitMs, signal, (end) => (wake = end));
    }
  };

  return {
    async place(who) {
      const startedMs = performance.now();
      const place = await queue(() => nextPlace(who));
      return { place, waitedMs: performance.now() - startedMs };
    },
    answered(place, status, headers) {
      const told: RateTold | undefined = rateTold(headers, Date.now());
      pace.answered(place, performance.now(), told, status === 429);
      wake(); // what it tells may let the next one go earlier
    },
    hold(waitMs) {
      const jitterMs = Math.random() * Math.min(MAX_JITTER_MS, waitMs / 10);
      pace.hold(performance.now() + waitMs + jitterMs);
    },
  };
}
