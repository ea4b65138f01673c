import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FIXTURES = new URL('fixtures/', import.meta.url).pathname;

/** A request to a real product and its answer. */
export interface Recorded {
  /** `nomad/volume-read`. */
  readonly name: string;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly requestBody: string | undefined;
  readonly status: number;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The first line is `> [METHOD] PATH [-d BODY]`, then come the status line, the headers, an empty line and the body. */
export function readRecorded(name: string): Recorded {
  const text = readFileSync(join(FIXTURES, `${name}.txt`), 'utf8').replaceAll('\r\n', '\n');
  const [request = '', statusLine = ''] = text.split('\n');
  const [, method = 'GET', path = '', requestBody] = /^> (?:([A-Z]+) )?(\S+)(?: -d (.*))?$/.exec(request) ?? [];
  const [head = '', ...rest] = text.slice(request.length + 1 + statusLine.length + 1).split('\n\n');
  const headers = head
    .split('\n')
    .filter((line) => line.includes(': '))
    .map((line) => line.split(/: (.*)/) as [string, string])
    .map(([header, value]) => [header.toLowerCase(), value] as const);
  const status = Number(statusLine.split(' ')[1]);
  // The files end in two line ends of their own.
  const body = rest.join('\n\n').replace(/\n+$/, '');
  return { name, method, path, requestBody, status, headers: Object.fromEntries(headers), body };
}

/** All recorded answers of a product. */
export function listRecorded(product: string): Recorded[] {
  const files = readdirSync(join(FIXTURES, product)).sort();
  return files.map((file) => readRecorded(`${product}/${file.replace(/\.txt$/, '')}`));
}
