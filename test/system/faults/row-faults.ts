import { type Fault, send, type Upstream } from './fault-proxy.ts';
import { status } from './faults.ts';
import type { PullKind } from './faulty-project.ts';

/** Well-formed responses with wrong rows, by kind. */

type PerWay = Partial<Record<PullKind, Fault>>;

const json =
  (change: (value: never, headers: Record<string, string>) => unknown): Fault =>
  (socket, answer) => {
    const headers = { ...answer.headers };
    const value = change(JSON.parse(answer.body.toString('utf8')) as never, headers);
    send(socket, { ...answer, headers, body: Buffer.from(JSON.stringify(value)) });
  };

const lines =
  (change: (lines: string[]) => readonly string[]): Fault =>
  (socket, answer) =>
    send(socket, {
      ...answer,
      body: Buffer.from(`${change(answer.body.toString('utf8').trimEnd().split('\n')).join('\n')}\n`),
    });

/** For requests of the export and of its fallback. */
const csvOrPages =
  (csv: Fault, pages: Fault): Fault =>
  (socket, answer, asked) =>
    (asked.url.includes('export') ? csv : pages)(socket, answer, asked);

interface Document {
  data: { id?: string }[];
  meta: { pagination: Record<string, number | null> };
}

const pageWithoutId = json((document: Document) => {
  delete document.data[4]?.id;
  return document;
});

/** Empties the key of line 17, whatever its column. */
const rowWithoutKey = lines((all) => {
  const names = all[0]!.replaceAll('"', '').split(',');
  const values = all[16]!.split('","');
  values[names.indexOf('external_id')] = '';
  return all.with(16, values.join('","'));
});

export const withoutKey: PerWay = {
  csv: csvOrPages(rowWithoutKey, pageWithoutId),
  pages: pageWithoutId,
  list: json((answer: { data: { keys?: unknown[] } }) => ({
    ...answer,
    data: { ...answer.data, ...(answer.data.keys && { keys: [null] }) },
  })),
  token: json((items: unknown) => (Array.isArray(items) ? items.map(({ Name: _, ...item }) => item) : items)),
  single: json((answer: { Roots: { ID?: string }[] }) => {
    delete answer.Roots[1]?.ID;
    return answer;
  }),
};

/** One row fewer than the service reports. */
const pageWithoutRow = json((document: Document) => ({ ...document, data: document.data.slice(1) }));
export const rowMissing: PerWay = {
  csv: csvOrPages(
    lines((all) => all.slice(0, -1)),
    pageWithoutRow,
  ),
  pages: pageWithoutRow,
};

let moves = 0;
const movedTotal = json((document: Document) => {
  document.meta.pagination['total-count'] = 230 + ++moves;
  return document;
});
export const totalMoves: PerWay = { csv: csvOrPages(send, movedTotal), pages: movedTotal };

/** Every page has the rows of the first one. */
let first: Document['data'] | undefined;
const firstAgain = json((document: Document) => {
  first ??= document.data;
  return { ...document, data: first };
});
const tokenAgain: Fault = (socket, answer) =>
  send(socket, { ...answer, headers: { ...answer.headers, 'x-nomad-nexttoken': 'second' } });
export const repeats: PerWay = { pages: firstAgain, token: tokenAgain };

/** The token expires in between: the first responses are intact. */
const later =
  (from: number, fault: Fault): Fault =>
  (socket, answer: Upstream, asked) =>
    asked.before < from ? send(socket, answer) : fault(socket, answer, asked);
const refused = status(401, {}, '{"errors": ["no"]}');
export const refusedLater: PerWay = {
  csv: refused,
  pages: later(1, refused),
  list: later(5, refused),
  token: later(1, refused),
};
