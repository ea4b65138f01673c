import { seconds } from './timing.ts';

/** A signal that ends with another one, or when something takes too long. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** The whole must be over in so long from now, and the answer begin in so long. */
  start(): void;
  /** A part of the answer has come: the next must follow in `idleMs`. */
  arrived(): void;
  /** What took too long, in words; undefined when nothing did. */
  expired(): string | undefined;
  /** Must be called: it lets go of the other signal and of the timers. */
  end(): void;
}

export interface Limits {
  readonly wholeMs: number;
  readonly headersMs: number;
  readonly idleMs: number;
}

/** undici's own timeouts tick about once a second; these are exact, and say which of them it was. */
export function deadline(outer: AbortSignal, { wholeMs, headersMs, idleMs }: Limits): Deadline {
  const controller = new AbortController();
  const abort = () => controller.abort(outer.reason);
  let expired: string | undefined;
  const expire = (words: string) => () => {
    expired ??= words;
    controller.abort();
  };
  let whole: NodeJS.Timeout | undefined;
  let headers: NodeJS.Timeout | undefined;
  let idle: NodeJS.Timeout | undefined;
  if (outer.aborted) abort();
  outer.addEventListener('abort', abort);
  return {
    signal: controller.signal,
    start() {
      whole = setTimeout(expire(`not finished within ${seconds(wholeMs)}`), wholeMs);
      headers = setTimeout(expire(`no answer within ${seconds(headersMs)}`), headersMs);
    },
    arrived() {
      clearTimeout(headers);
      if (idle) idle.refresh();
      else idle = setTimeout(expire(`silent for ${seconds(idleMs)} within an answer`), idleMs);
    },
    expired: () => expired,
    end() {
      for (const timer of [whole, headers, idle]) clearTimeout(timer);
      outer.removeEventListener('abort', abort);
    },
  };
}
