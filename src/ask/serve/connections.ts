import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Keeps an address from taking every connection. Beyond `maxPerAddress`, its oldest connection that asks nothing is closed, such as one
 * whose request never ends: a reader who asks is answered, also from the same address.
 */
export function limitConnections(server: Server, maxPerAddress: number): void {
  const open = new Map<string, Set<Socket>>();
  const asking = new WeakSet<Socket>();
  server.on('request', ({ socket }, response) => {
    asking.add(socket);
    response.once('close', () => asking.delete(socket));
  });
  server.on('connection', (socket) => {
    const address = socket.remoteAddress ?? '';
    const sockets = open.get(address) ?? new Set();
    open.set(address, sockets.add(socket));
    socket.once('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0 && open.get(address) === sockets) open.delete(address);
    });
    if (sockets.size > maxPerAddress) [...sockets].find((one) => !asking.has(one))?.destroy();
  });
}
