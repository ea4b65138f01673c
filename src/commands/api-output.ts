import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from '../core/context.ts';
import { printable } from '../core/log.ts';
import { parseLossless, printJson } from '../http/json.ts';
import { type Answer, itemsAt, type Page } from '../services/answer.ts';
import type { Downloaded } from '../services/download.ts';
import type { Operation } from '../services/operation.ts';

/** The body: JSON indented with its digits kept, other text as it was sent, `{"status": 204}` for none. */
export function printAnswer(context: Context, { status, text }: Answer): void {
  context.stdout(text.trim() === '' ? none(status) : bodyText(context, text));
}

/** What stands for an empty answer. */
function none(status: number): string {
  return `{"status": ${status}}\n`;
}

function bodyText(context: Context, text: string): string {
  try {
    return `${printJson(parseLossless(text))}\n`;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return asSent(context, text.endsWith('\n') ? text : `${text}\n`);
  }
}

/** Every item of every page as one array, page by page. */
export async function printAll(context: Context, operation: Operation, pages: AsyncIterable<Page>): Promise<void> {
  let opened = false;
  for await (const { text } of pages) {
    for (const item of itemsAt(operation, parseLossless(text)) ?? []) {
      context.stdout(`${opened ? ',\n' : '[\n'}${indented(printJson(item))}`);
      opened = true;
    }
  }
  context.stdout(opened ? '\n]\n' : '[]\n');
}

/** A large text by way of a file: it is printed only once it has come whole, and never stands in memory. */
export async function printDownload(context: Context, download: (file: string) => Promise<Downloaded>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-api-'));
  try {
    const file = join(folder, 'answer');
    const { status, bytes } = await download(file);
    if (bytes === 0) context.stdout(none(status));
    for await (const chunk of createReadStream(file, 'utf8')) context.stdout(asSent(context, chunk as string));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A terminal must not be steered by what comes from outside; a pipe or file gets every byte. */
function asSent({ stdoutIsTerminal }: Context, text: string): string {
  return stdoutIsTerminal ? printable(text) : text;
}

function indented(json: string): string {
  return json.replaceAll(/^/gmu, '  ');
}
