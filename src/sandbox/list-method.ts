import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** What a `LIST` request is called behind the parser, which refuses methods that it does not know. */
export const LIST_ALIAS = 'LINK';

/** Node's own bound on a request's head is 16 KiB; a head longer than this goes on as it is, for the parser to refuse. */
const MAX_HEAD_BYTES = 65_536;

type Stage =
  | { readonly at: 'head' | 'chunk-size' | 'chunk-end' | 'trailer' }
  | { readonly at: 'body' | 'chunk'; readonly bytesLeft: number }
  | { readonly at: 'raw' };

interface Step {
  /** Bytes of the input that this step used up; 0 asks for more input. */
  readonly used: number;
  readonly out: Buffer;
  readonly next: Stage;
}

const HEAD: Stage = { at: 'head' };
const NOTHING = Buffer.alloc(0);

function afterHead(head: string): Stage {
  if (/\r\ntransfer-encoding:[^\r\n]*chunked/i.test(head)) return { at: 'chunk-size' };
  const bytesLeft = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  return bytesLeft > 0 ? { at: 'body', bytesLeft } : HEAD;
}

function readHead(input: Buffer, waiting: Stage): Step {
  const end = input.indexOf('\r\n\r\n');
  if (end < 0) {
    if (input.length > MAX_HEAD_BYTES) return { used: input.length, out: input, next: { at: 'raw' } };
    return { used: 0, out: NOTHING, next: waiting };
  }
  const head = input.toString('latin1', 0, end + 4);
  const renamed = head.replace(/^((?:\r\n)*)LIST /, `$1${LIST_ALIAS} `);
  return { used: end + 4, out: Buffer.from(renamed, 'latin1'), next: afterHead(head) };
}

function readCounted(input: Buffer, bytesLeft: number, at: 'body' | 'chunk', then: Stage): Step {
  const used = Math.min(input.length, bytesLeft);
  return { used, out: input.subarray(0, used), next: used === bytesLeft ? then : { at, bytesLeft: bytesLeft - used } };
}

function readLine(input: Buffer, waiting: Stage, then: (line: string) => Stage): Step {
  const end = input.indexOf('\r\n');
  if (end < 0) return { used: 0, out: NOTHING, next: waiting };
  return { used: end + 2, out: input.subarray(0, end + 2), next: then(input.toString('latin1', 0, end)) };
}

function chunkOf(line: string): Stage {
  const bytesLeft = Number.parseInt(line, 16);
  if (Number.isNaN(bytesLeft)) return { at: 'raw' };
  return bytesLeft === 0 ? { at: 'trailer' } : { at: 'chunk', bytesLeft };
}

function step(input: Buffer, stage: Stage): Step {
  switch (stage.at) {
    case 'head':
      return readHead(input, stage);
    case 'body':
      return readCounted(input, stage.bytesLeft, 'body', HEAD);
    case 'chunk-size':
      return readLine(input, stage, chunkOf);
    case 'chunk':
      return readCounted(input, stage.bytesLeft, 'chunk', { at: 'chunk-end' });
    case 'chunk-end':
      return readLine(input, stage, () => ({ at: 'chunk-size' }));
    case 'trailer':
      return readLine(input, stage, (line) => (line === '' ? HEAD : stage));
    case 'raw':
      return { used: input.length, out: input, next: stage };
  }
}

/**
 * A filter over the bytes that a client sends on one connection: every request line that begins with `LIST ` leaves as
 * `LINK `. It follows where requests end (Content-Length, chunks), so neither keep-alive, pipelining, split packets nor
 * a body that contains such a line mislead it.
 */
export function createListRewriter(): (packet: Buffer) => Buffer {
  let stage: Stage = HEAD;
  let held: Buffer = NOTHING;
  return (packet) => {
    let input = held.length > 0 ? Buffer.concat([held, packet]) : packet;
    const out: Buffer[] = [];
    while (input.length > 0) {
      const done: Step = step(input, stage);
      stage = done.next;
      if (done.used === 0) break;
      out.push(done.out);
      input = input.subarray(done.used);
    }
    held = input;
    return Buffer.concat(out);
  };
}

/** The socket as a stream that Node's HTTP server can take over, with `LIST` already renamed. */
export function withListMethod(socket: Socket): Duplex {
  const rewrite = createListRewriter();
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
    const bytes = rewrite(packet);
    if (bytes.length > 0 && !stream.push(bytes)) socket.pause();
  });
  socket.on('end', () => stream.push(null));
  socket.on('close', () => stream.destroy());
  socket.on('error', (error) => stream.destroy(error));
  return stream;
}
