import { maskBlocks, type Redactor } from '../../src/core/redact/redactor.ts';

/** Pieces of a text with so many characters each. */
export function cutText(text: string, size: number): readonly string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
}

/** What `maskBlocks` makes of a text that arrives in pieces. */
export async function maskPieces(pieces: readonly string[], redactor: Redactor): Promise<string> {
  async function* send() {
    for (const piece of pieces) yield Buffer.from(piece);
  }
  const blocks: Buffer[] = [];
  for await (const block of maskBlocks(send(), redactor)) blocks.push(block);
  return Buffer.concat(blocks).toString('utf8');
}
