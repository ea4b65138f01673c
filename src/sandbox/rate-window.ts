export interface Allowance {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the window ends, with fractions. */
  readonly resetSeconds: number;
}

/**
 * Fixed windows of one second that begin with the first request in them, as HCP Terraform counts its 30 requests a
 * second (live-services.md A2). `nowMs` is a steady clock: the limit is about real time, not the sandbox's present.
 */
export function createRateWindow(limit: number, nowMs: () => number, windowMs = 1000): () => Allowance {
  let startedMs = Number.NEGATIVE_INFINITY;
  let used = 0;
  return () => {
    const now = nowMs();
    if (now - startedMs >= windowMs) {
      startedMs = now;
      used = 0;
    }
    used++;
    return {
      allowed: used <= limit,
      limit,
      remaining: Math.max(0, limit - used),
      resetSeconds: (startedMs + windowMs - now) / 1000,
    };
  };
}
