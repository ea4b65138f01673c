import { AssertionError } from 'node:assert';
import type { Socket } from 'node:net';
import { buildConnector, Pool } from 'undici';
import { inTime } from './connection.ts';

/**
 * undici 7 asserts that its parser is not paused when a connection ends, and throws where nothing can catch it: a service
 * that closes while a body is read slower than it comes would end the whole process (nodejs/undici issue 5360, mended in 8,
 * which needs a newer Node). So the end is told again until the reader has come as far.
 */
export function poolThatWaits(connectMs: number, origin: string | URL, options: Pool.Options): Pool {
  const { connect } = options;
  const open = typeof connect === 'function' ? connect : buildConnector({ ...connect });
  return new Pool(origin, {
    ...options,
    connect: (to, callback) =>
      open(
        to,
        inTime((...result) => {
          const [, socket] = result;
          if (socket) holdEnd(socket);
          callback(...result);
        }, connectMs),
      ),
  });
}

const AGAIN_MS = 5;

function holdEnd(socket: Socket): void {
  const emit = socket.emit.bind(socket);
  // Else Node itself takes the socket down after the other side's end, reader or not.
  socket.allowHalfOpen = true;
  const end = (): boolean => {
    if (socket.destroyed) return false;
    try {
      emit('end');
    } catch (error) {
      if (!(error instanceof AssertionError)) throw error;
      setTimeout(end, AGAIN_MS);
      return true;
    }
    if (!socket.destroyed) socket.end();
    return true;
  };
  socket.emit = (event: string | symbol, ...args: unknown[]) => (event === 'end' ? end() : emit(event, ...args));
}
