import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** The method that replaces `LIST`, which has as many letters, before Node's HTTP parser, which refuses what it does not know. */
export const LIST_ALIAS = 'LINK';

/** Node limits a request's header to 16 KiB; a longer one than this passes unchanged, for the parser to refuse. */
const MAX_HEADER_BYTES = 65_536;

const EMPTY = Buffer.alloc(0);

/**
 * Rewrites the bytes that a client sends on one connection: every request line that begins with `LIST ` leaves as
 * `LINK `. It follows where requests end (Content-Length, chunks), so keep-alive, pipelining, split packets and bodies
 * that contain such a line are handled correctly.
 */
export class ListRewriter {
  /** What comes next. `raw`: what cannot be parsed passes unchanged. */
  #place: 'header' | 'body' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer' | 'raw' = 'header';
  /** Bytes of the body, or of the chunk, that are still to come. */
  #bytesLeft = 0;
  #pending: Buffer = EMPTY;

  /** Takes one packet; returns the bytes that are ready. */
  push(packet: Buffer): Buffer {
    let input = Buffer.concat([this.#pending, packet]);
    const output: Buffer[] = [];
    for (let ready = this.#next(input); ready.length > 0; ready = this.#next(input)) {
      output.push(ready);
      input = input.subarray(ready.length);
    }
    this.#pending = input;
    return Buffer.concat(output);
  }

  /** The next part of the input, rewritten; nothing where more input is needed. */
  #next(input: Buffer): Buffer {
    if (this.#place === 'raw') return input;
    if (this.#place === 'header') return this.#header(input);
    return this.#place === 'body' || this.#place === 'chunk' ? this.#counted(input) : this.#line(input);
  }

  #header(input: Buffer): Buffer {
    const end = input.indexOf('\r\n\r\n') + 4;
    if (end < 4) {
      if (input.length <= MAX_HEADER_BYTES) return EMPTY;
      this.#place = 'raw';
      return input;
    }
    const header = input.toString('latin1', 0, end);
    this.#bytesLeft = Number(/\r\ncontent-length: *(\d+)/i.exec(header)?.[1] ?? 0);
    if (/\r\ntransfer-encoding:[^\r\n]*chunked/i.test(header)) this.#place = 'chunk-size';
    else if (this.#bytesLeft > 0) this.#place = 'body';
    return Buffer.from(header.replace(/^((?:\r\n)*)LIST /, `$1${LIST_ALIAS} `), 'latin1');
  }

  #counted(input: Buffer): Buffer {
    const bytes = input.subarray(0, this.#bytesLeft);
    this.#bytesLeft -= bytes.length;
    if (this.#bytesLeft === 0) this.#place = this.#place === 'body' ? 'header' : 'chunk-end';
    return bytes;
  }

  #line(input: Buffer): Buffer {
    const end = input.indexOf('\r\n') + 2;
    if (end < 2) return EMPTY;
    const line = input.toString('latin1', 0, end - 2);
    if (this.#place === 'chunk-end') this.#place = 'chunk-size';
    else if (this.#place === 'chunk-size') this.#startChunk(Number.parseInt(line, 16));
    else if (line === '') this.#place = 'header';
    return input.subarray(0, end);
  }

  #startChunk(bytes: number): void {
    this.#bytesLeft = bytes;
    if (Number.isNaN(bytes)) this.#place = 'raw';
    else this.#place = bytes === 0 ? 'trailer' : 'chunk';
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
