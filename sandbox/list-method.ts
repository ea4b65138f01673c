import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** The method that replaces `LIST` before Node's HTTP parser, which refuses methods that it does not know. */
export const LIST_ALIAS = 'LINK';

/** Node limits a request's header to 16 KiB; a longer one than this passes unchanged, for the parser to refuse. */
const MAX_HEADER_BYTES = 65_536;

type Position =
  | { readonly at: 'header' | 'chunk-size' | 'chunk-end' | 'trailer' }
  | { readonly at: 'body' | 'chunk'; readonly bytesLeft: number }
  /** Unparseable: everything from here passes unchanged. */
  | { readonly at: 'raw' };

interface Step {
  /** Bytes of the input that this step consumed; 0 asks for more input. */
  readonly used: number;
  readonly output: Buffer;
  readonly next: Position;
}

const HEADER: Position = { at: 'header' };
const EMPTY = Buffer.alloc(0);

function positionAfter(header: string): Position {
  if (/\r\ntransfer-encoding:[^\r\n]*chunked/i.test(header)) return { at: 'chunk-size' };
  const bytesLeft = Number(/\r\ncontent-length: *(\d+)/i.exec(header)?.[1] ?? 0);
  return bytesLeft > 0 ? { at: 'body', bytesLeft } : HEADER;
}

function readHeader(input: Buffer, current: Position): Step {
  const end = input.indexOf('\r\n\r\n');
  if (end < 0) {
    if (input.length > MAX_HEADER_BYTES) return { used: input.length, output: input, next: { at: 'raw' } };
    return { used: 0, output: EMPTY, next: current };
  }
  const header = input.toString('latin1', 0, end + 4);
  const renamed = header.replace(/^((?:\r\n)*)LIST /, `$1${LIST_ALIAS} `);
  return { used: end + 4, output: Buffer.from(renamed, 'latin1'), next: positionAfter(header) };
}

function readCounted(input: Buffer, bytesLeft: number, at: 'body' | 'chunk', then: Position): Step {
  const used = Math.min(input.length, bytesLeft);
  const next = used === bytesLeft ? then : { at, bytesLeft: bytesLeft - used };
  return { used, output: input.subarray(0, used), next };
}

function readLine(input: Buffer, current: Position, then: (line: string) => Position): Step {
  const end = input.indexOf('\r\n');
  if (end < 0) return { used: 0, output: EMPTY, next: current };
  return { used: end + 2, output: input.subarray(0, end + 2), next: then(input.toString('latin1', 0, end)) };
}

function parseChunkSize(line: string): Position {
  const bytesLeft = Number.parseInt(line, 16);
  if (Number.isNaN(bytesLeft)) return { at: 'raw' };
  return bytesLeft === 0 ? { at: 'trailer' } : { at: 'chunk', bytesLeft };
}

function step(input: Buffer, position: Position): Step {
  switch (position.at) {
    case 'header':
      return readHeader(input, position);
    case 'body':
      return readCounted(input, position.bytesLeft, 'body', HEADER);
    case 'chunk-size':
      return readLine(input, position, parseChunkSize);
    case 'chunk':
      return readCounted(input, position.bytesLeft, 'chunk', { at: 'chunk-end' });
    case 'chunk-end':
      return readLine(input, position, () => ({ at: 'chunk-size' }));
    case 'trailer':
      return readLine(input, position, (line) => (line === '' ? HEADER : position));
    case 'raw':
      return { used: input.length, output: input, next: position };
  }
}

/**
 * Rewrites the bytes that a client sends on one connection: every request line that begins with `LIST ` leaves as
 * `LINK `. It follows where requests end (Content-Length, chunks), so keep-alive, pipelining, split packets and bodies
 * that contain such a line are handled correctly.
 */
export class ListRewriter {
  #position: Position = HEADER;
  #pending: Buffer = EMPTY;

  /** Takes one packet; returns the bytes that are ready. */
  push(packet: Buffer): Buffer {
    let input = this.#pending.length > 0 ? Buffer.concat([this.#pending, packet]) : packet;
    const output: Buffer[] = [];
    while (input.length > 0) {
      const done = step(input, this.#position);
      this.#position = done.next;
      if (done.used === 0) break;
      output.push(done.output);
      input = input.subarray(done.used);
    }
    this.#pending = input;
    return Buffer.concat(output);
  }
}

/** The socket as a stream for Node's HTTP server, in which `LIST` is already renamed. */
export function withListMethod(socket: Socket): Duplex {
  const rewriter = new ListRewriter();
  const stream = new Duplex({
    read: () => void socket.resume(),
    write: (chunk, encoding, done) => void socket.write(chunk, encoding, done),
    final: (done) => void socket.end(done),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (packet: Buffer) => {
    const bytes = rewriter.push(packet);
    if (bytes.length > 0 && !stream.push(bytes)) socket.pause();
  });
  socket.on('end', () => stream.push(null));
  socket.on('close', () => stream.destroy());
  socket.on('error', (error) => stream.destroy(error));
  return stream;
}
