import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'lossless-json';
import type { Target } from '../core/config.ts';
import { isSecretField, mentionsSecretField, type Redactor, withoutSecretFields } from '../core/redact.ts';
import { type LandingFile, type Manifest, targetFingerprint } from '../landing/manifest.ts';
import { dropColumns } from './drop-columns.ts';
import { createLinesFile, type LinesMark } from './lines-file.ts';
import { maskFile } from './mask-file.ts';

/**
 * Where one source of one target puts what it was answered, in `data/landing/RUN/TARGET/`. Nothing reaches the disk with a
 * secret in it: fields that hold one by name are dropped, known values masked.
 */
export interface Landing {
  /** One line: `fields`, and under `body` the answer's JSON text as it came, digit for digit. */
  line(fields: Readonly<Record<string, string | number | null>>, body?: string): Promise<void>;
  /** Lines of CSV below a header of these names, which stay the same. */
  rows(columns: readonly string[], lines: string): Promise<void>;
  /** Path for a file that is streamed by others; `add` then takes it in. */
  path(extension: string): Promise<string>;
  add(file: LandingFile, streamed: { readonly holdsSecret: boolean }): Promise<void>;
  /** Adds to the number of rows that the service says there are. */
  expect(rows: number): void;
  /** Where the landing stands now, to come back to. */
  mark(): Promise<LandingMark>;
  /** Forgets what landed after a mark, for another try. @default all of it */
  reset(to?: LandingMark): Promise<void>;
  /** Closes the files and writes the manifest. */
  finish(): Promise<Manifest>;
  /** Closes the files and keeps them under `.refused` names, for a person to look at. */
  abandon(): Promise<void>;
  /** Closes the files and removes them, to give their room back. */
  discard(): Promise<void>;
}

export interface LandingMark {
  readonly lines: LinesMark;
  readonly table: LinesMark;
  readonly expected: number | undefined;
  readonly streamed: number;
  readonly files: number;
}

export interface LandingOptions {
  readonly directory: string;
  readonly source: string;
  readonly target: Target;
  readonly runId: string;
  readonly asOf: string;
  readonly redactor: Redactor;
}

export function openLanding({ directory, source, target, runId, asOf, redactor }: LandingOptions): Landing {
  const lines = createLinesFile(directory, `${source}.ndjson`);
  let columns: readonly string[] = [];
  const table = createLinesFile(directory, `${source}.csv`, () => `${columns.join(',')}\n`);
  let expected: number | undefined;
  /** Names that were given out, whether or not what they were for came to a good end. */
  const streamed: string[] = [];
  const files: LandingFile[] = [];

  const mark = async (): Promise<LandingMark> => ({
    lines: await lines.mark(),
    table: await table.mark(),
    expected,
    streamed: streamed.length,
    files: files.length,
  });
  const start = mark();
  const close = async () => {
    await lines.close();
    await table.close();
  };
  const left = () => {
    const written = [`${source}.ndjson`, `${source}.csv`].flatMap((name) => [name, `${name}.part`]);
    return new Set([...streamed, ...written]);
  };

  return {
    mark,
    async path(extension) {
      await mkdir(directory, { recursive: true });
      const file = `${source}.${extension}`;
      streamed.push(file);
      return join(directory, file);
    },
    async add(file, { holdsSecret }) {
      const path = join(directory, file.file);
      const named = file.columns?.some(isSecretField) && (await dropColumns(path, file.columns, isSecretField));
      files.push({ ...file, ...named, ...(holdsSecret && (await maskFile(path, redactor))) });
    },
    expect: (rows) => {
      expected = (expected ?? 0) + rows;
    },
    line: (fields, body) => lines.write(redactor.text(lineOf(fields, body))),
    rows(names, text) {
      columns = names;
      return table.write(redactor.text(text));
    },
    async reset(to) {
      const back = to ?? (await start);
      await lines.rewind(back.lines);
      await table.rewind(back.table);
      expected = back.expected;
      files.splice(back.files);
      for (const file of streamed.splice(back.streamed)) await rm(join(directory, file), { force: true });
    },
    async finish() {
      const ndjson = await lines.finish();
      const csv = await table.finish();
      const manifest: Manifest = {
        source,
        target: target.name,
        service: targetFingerprint(target),
        run_id: runId,
        as_of: asOf,
        files: [
          ...files,
          ...(ndjson ? [{ ...ndjson, format: 'ndjson' as const }] : []),
          ...(csv ? [{ ...csv, format: 'csv' as const, columns }] : []),
        ],
        expected_rows: expected ?? null,
      };
      await writeManifest(directory, manifest);
      return manifest;
    },
    async abandon() {
      await close();
      for (const file of left()) await setAside(join(directory, file), redactor);
    },
    async discard() {
      await close();
      for (const file of left()) await rm(join(directory, file), { force: true });
    },
  };
}

function lineOf(fields: Readonly<Record<string, string | number | null>>, body: string | undefined): string {
  const head = JSON.stringify(fields).slice(0, -1);
  if (body === undefined) return `${head}}\n`;
  const comma = head === '{' ? '' : ',';
  return `${head}${comma}"body":${oneLine(withoutSecrets(body))}}\n`;
}

function withoutSecrets(json: string): string {
  if (!mentionsSecretField(json)) return json;
  return stringify(withoutSecretFields(parse(json))) ?? 'null';
}

/** Line breaks between JSON tokens mean nothing; inside strings they cannot stand raw. */
function oneLine(json: string): string {
  return json.includes('\n') || json.includes('\r') ? json.replaceAll(/[\r\n]+/gu, ' ') : json;
}

async function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  await mkdir(directory, { recursive: true });
  const file = join(directory, `${manifest.source}.json`);
  await writeFile(`${file}.part`, `${JSON.stringify(manifest, null, 2)}\n`);
  await rename(`${file}.part`, file);
}

/** Keeps a refused file where a person finds it; a later try then cannot be mistaken for it. */
async function setAside(path: string, redactor: Redactor): Promise<void> {
  if (!existsSync(path)) return;
  await maskFile(path, redactor);
  await rename(path, `${path.replace(/\.part$/u, '')}.refused`);
}
