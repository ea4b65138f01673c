import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parse, stringify } from 'lossless-json';
import type { LandedFile, Manifest } from '../core/landed.ts';
import { mentionsSecretField, type Redactor, withoutSecretFields } from '../core/redact.ts';

/**
 * Where one source of one target puts what it was answered, in `data/landing/RUN/TARGET/`. Nothing reaches the disk with a
 * secret in it: fields that hold one by name are dropped, known values masked.
 */
export interface Landing {
  /** One line: `fields`, and under `body` the answer's JSON text as it came, digit for digit. */
  line(fields: Readonly<Record<string, string | number | null>>, body?: string): Promise<void>;
  /** Path for a file that is streamed by others; `add` then takes it in. */
  path(extension: string): Promise<string>;
  add(file: LandedFile): void;
  /** Adds to the number of rows that the service says there are. */
  expect(rows: number): void;
  /** Forgets everything landed so far, for another try. */
  reset(): Promise<void>;
  /** Closes the files and writes the manifest. */
  finish(): Promise<Manifest>;
  /** Closes the files and keeps them under `.refused` names, for a person to look at. */
  abandon(): Promise<void>;
}

export interface LandingOptions {
  readonly directory: string;
  readonly source: string;
  readonly target: string;
  readonly runId: string;
  readonly asOf: string;
  readonly redactor: Redactor;
}

export function openLanding({ directory, source, target, runId, asOf, redactor }: LandingOptions): Landing {
  const lines = `${source}.ndjson`;
  let handle: FileHandle | undefined;
  let tail: Promise<void> = Promise.resolve();
  let longest = 0;
  let hash = createHash('sha256');
  let bytes = 0;
  let expected: number | undefined;
  let files: LandedFile[] = [];

  // Several slices land at once: one line after another, whole.
  const write = (text: string) => {
    tail = tail.then(async () => {
      handle ??= await openPart(directory, lines);
      const line = Buffer.from(text);
      hash.update(line);
      bytes += line.length;
      longest = Math.max(longest, line.length);
      await handle.write(line);
    });
    return tail;
  };
  const close = async () => {
    await tail.catch(() => undefined); // whoever wrote has been told
    await handle?.close();
    handle = undefined;
  };
  const landedLines = async () => {
    if (!handle) return;
    await close();
    await rename(join(directory, `${lines}.part`), join(directory, lines));
    files.push({ file: lines, format: 'ndjson', bytes, sha256: hash.digest('hex'), longestLine: longest });
  };

  return {
    async path(extension) {
      await mkdir(directory, { recursive: true });
      return join(directory, `${source}.${extension}`);
    },
    add: (file) => files.push(file),
    expect: (rows) => {
      expected = (expected ?? 0) + rows;
    },
    line: (fields, body) => write(redactor.text(lineOf(fields, body))),
    async reset() {
      await close();
      await rm(join(directory, `${lines}.part`), { force: true });
      for (const { file } of files) await rm(join(directory, file), { force: true });
      [hash, bytes, longest, expected, files] = [createHash('sha256'), 0, 0, undefined, []];
      tail = Promise.resolve();
    },
    async finish() {
      await landedLines();
      const manifest: Manifest = { source, target, run_id: runId, as_of: asOf, files, expected_rows: expected ?? null };
      await writeManifest(directory, manifest);
      return manifest;
    },
    async abandon() {
      await close();
      const left = [...files.map(({ file }) => file), `${lines}.part`];
      for (const file of left) await setAside(join(directory, file));
    },
  };
}

async function openPart(directory: string, name: string): Promise<FileHandle> {
  await mkdir(directory, { recursive: true });
  return open(join(directory, `${name}.part`), 'w');
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
export async function setAside(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await rename(path, `${path.replace(/\.part$/u, '')}.refused`).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
