import type { Server as HttpServer, IncomingMessage } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** The method that replaces `LIST`, which has as many letters, before Node's HTTP parser, which refuses what it does not know. */
export const LIST_ALIAS = 'LINK';
const LIST = Buffer.from('LIST ');

export interface ListServer {
  readonly port: number;
  /** Ends all connections at once. */
  close(): Promise<void>;
}

/** Listens for a server, which gets `LIST` as its alias; not in requests that are sent before the last one is read. */
export async function listen(http: HttpServer, port = 0): Promise<ListServer> {
  const streams = new Set<Duplex>();
  const expectRequest = new WeakMap<object, () => void>();
  http.on('request', (request: IncomingMessage) => request.once('close', () => expectRequest.get(request.socket)?.()));
  const server = createServer((socket) => {
    let isBeginning = true;
    let held: Buffer = Buffer.alloc(0);
    const stream = toStream(socket, (packet) => {
      if (!isBeginning) return packet;
      const start = Buffer.concat([held, packet]);
      isBeginning = start.length < LIST.length;
      held = isBeginning ? start : Buffer.alloc(0);
      if (start.subarray(0, LIST.length).equals(LIST)) start.write(LIST_ALIAS);
      return isBeginning ? Buffer.alloc(0) : start;
    });
    expectRequest.set(stream, () => {
      isBeginning = true;
    });
    streams.add(stream.once('close', () => streams.delete(stream)));
    http.emit('connection', stream);
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve()); // also where it is closed already
        for (const stream of streams) stream.destroy();
      }),
  };
}

/** A socket as a stream of what `change` makes of its packets. */
function toStream(socket: Socket, change: (packet: Buffer) => Buffer): Duplex {
  const stream = new Duplex({
    read: () => void socket.resume(),
    write: (chunk, encoding, done) => void socket.write(chunk, encoding, done),
    final: (done) => void socket.end(done),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.setNoDelay(true);
  socket.on('data', (packet: Buffer) => {
    const bytes = change(packet);
    if (bytes.length > 0 && !stream.push(bytes)) socket.pause();
  });
  socket.on('end', () => stream.push(null));
  socket.on('close', () => stream.destroy());
  socket.on('error', (error) => stream.destroy(error));
  return stream;
}
