import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startDeadline } from '../../src/http/retry.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const TIMEOUTS = { headersMs: 90_000, idleMs: 60_000, slowMs: 60_000 };

/** A body that delivers a number of bytes each second, for some seconds. */
function deliver(bytes: number, seconds: number) {
  const deadline = startDeadline(new AbortController().signal, 3_600_000, TIMEOUTS);
  deadline.touch();
  for (let second = 0; second < seconds; second++) {
    vi.advanceTimersByTime(999);
    deadline.touch(bytes);
    vi.advanceTimersByTime(1);
  }
  return deadline;
}

it('a body of 1 KiB per second is not slow', () => {
  const deadline = deliver(1024, 600);
  expect([deadline.exceeded(), deadline.signal.aborted]).toEqual([undefined, false]);
  deadline.dispose();
});

it.each([1, 1023])('a body of %d bytes per second is given up after a minute', (bytes) => {
  expect(deliver(bytes, 59).exceeded()).toBeUndefined();
  const deadline = deliver(bytes, 61);
  expect(deadline.exceeded()).toEqual({
    failure: 'truncated',
    message: 'less than 1 KiB/s for 60 s',
    retryable: 'yes',
  });
  expect(deadline.signal.aborted).toBe(true);
});

it('a body that was fast and becomes slow is given up', () => {
  const deadline = deliver(1024 * 1024, 60);
  for (let second = 0; second < 121; second++) {
    vi.advanceTimersByTime(1000);
    deadline.touch(10);
  }
  expect(deadline.exceeded()).toMatchObject({ failure: 'truncated' });
});

it('a body that stops has the message of the stop', () => {
  const deadline = deliver(0, 0);
  vi.advanceTimersByTime(60_000);
  expect(deadline.exceeded()).toMatchObject({ failure: 'timeout', message: 'no data for 60 s within a response' });
});

it('what is sent piece by piece has its time for the headers after the last piece', () => {
  const deadline = startDeadline(new AbortController().signal, 3_600_000, TIMEOUTS);
  for (let piece = 0; piece < 10; piece++) {
    vi.advanceTimersByTime(89_000);
    deadline.sent();
  }
  vi.advanceTimersByTime(89_000);
  expect(deadline.exceeded()).toBeUndefined();
  vi.advanceTimersByTime(1_000);
  expect(deadline.exceeded()).toMatchObject({ failure: 'timeout', message: 'no response within 90 s' });
});

it('nothing is left of a deadline that is over', () => {
  deliver(1, 1).dispose();
  expect(vi.getTimerCount()).toBe(0);
});
