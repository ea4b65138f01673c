import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'lossless-json';
import type { Target } from '../config/config.ts';
import { makeFolder } from '../core/fs.ts';
import { parseLossless } from '../core/json.ts';
import { Redactor } from '../core/redact/redactor.ts';
import {
  collectSecretFields,
  isSecretField,
  mayContainSecret,
  stripSecretFields,
} from '../core/redact/secret-fields.ts';
import { repairEscapes } from '../core/well-formed.ts';
import { dropColumns } from './csv.ts';
import { createLineWriter } from './line-writer.ts';
import { type ObjectTag, TAG_FIELD } from './objects.ts';
import {
  type LandingFile,
  type Manifest,
  targetFingerprint,
  targetPlace,
  type UnknownPart,
  writeManifest,
} from './store.ts';

interface LandingOptions {
  /** `data/landing/RUN/TARGET`; made when the first file needs it. */
  readonly directory: string;
  readonly source: string;
  readonly target: Target;
  readonly runId: string;
  /** ISO 8601. */
  readonly asOf: string;
  readonly redactor: Redactor;
  /** Receives every number given to `expectRows`, for the progress display. */
  readonly onExpectedRows?: (rows: number) => void;
}

/** A state that a landing can be rolled back to. */
type LandingCheckpoint = Awaited<ReturnType<LandingWriter['checkpoint']>>;

/**
 * Writes the landing of one source of one target: data files, then a manifest. No secret reaches the disk: fields that contain
 * secrets by name are dropped, known secret values are masked.
 */
export class LandingWriter {
  readonly #options: LandingOptions;
  readonly #json: ReturnType<typeof createLineWriter>;
  readonly #csv: ReturnType<typeof createLineWriter>;
  #csvColumns: readonly string[] = [];
  #expectedRows: number | null = null;
  readonly #notes: string[] = [];
  readonly #unknownParts: UnknownPart[] = [];
  /** Names of files that were allocated, complete or not. */
  readonly #allocated: string[] = [];
  readonly #registered: LandingFile[] = [];

  constructor(options: LandingOptions) {
    const { directory, source } = options;
    this.#options = options;
    this.#json = createLineWriter(directory, `${source}.ndjson.gz`);
    this.#csv = createLineWriter(directory, `${source}.csv.gz`);
  }

  /**
   * Writes one line: `fields`, and under `body` the JSON text of a response with its numbers as they came.
   * @param tag what the next pull finds the line by
   */
  writeJson(fields: Readonly<Record<string, string | number | null>>, body?: string, tag?: ObjectTag): Promise<void> {
    const start = repairEscapes(JSON.stringify(tag ? { [TAG_FIELD]: tag, ...fields } : fields)).slice(0, -1);
    const comma = start === '{' ? '' : ',';
    if (body === undefined) return this.copyLine(`${start}}\n`);
    return this.copyLine(maskOwn(`${start}${comma}"body":${cleanJson(body)}}\n`, body));
  }

  /** Writes a line of an earlier landing again. */
  copyLine(line: string): Promise<void> {
    return this.#json.write(this.#options.redactor.row(line));
  }

  /** Writes lines of CSV. `columns` is the header, the same in every call. */
  writeCsv(columns: readonly string[], lines: string): Promise<void> {
    this.#csvColumns = columns;
    const header = this.#csv.isEmpty() ? `${columns.join(',')}\n` : '';
    return this.#csv.write(header + this.#options.redactor.row(lines));
  }

  mask(text: string): string {
    return this.#options.redactor.row(text);
  }

  /** Reserves a CSV file that the caller writes, compressed. @returns its path; `register` then adds it to the landing */
  async allocate(): Promise<string> {
    const { directory, source } = this.#options;
    await makeFolder(directory);
    const { length } = this.#allocated;
    const file = `${source}.${length === 0 ? '' : `${length}.`}csv.gz`;
    this.#allocated.push(file);
    return join(directory, file);
  }

  /** Adds a file that was allocated, in which known secrets are masked. */
  async register(file: LandingFile): Promise<void> {
    const path = join(this.#options.directory, file.file);
    const withoutColumns = file.columns?.some(isSecretField) && (await dropColumns(path, file.columns, isSecretField));
    this.#registered.push({ ...file, ...withoutColumns });
  }

  /** Adds to the number of rows that the service reports. */
  expectRows(rows: number): void {
    this.#expectedRows = (this.#expectedRows ?? 0) + rows;
    this.#options.onExpectedRows?.(rows);
  }

  /** Adds a sentence to the note of the pull: something a reader of the rows should know. */
  addNote(text: string): void {
    this.#notes.push(this.#options.redactor.text(text));
  }

  /** Records that a part of the rows could not be listed: the pull is then partial. Its values are masked as they are in its rows. */
  addUnknown({ value, within, ...part }: UnknownPart): void {
    const known = within && { within: { ...within, value: this.mask(within.value) } };
    const reason = this.#options.redactor.text(part.reason);
    this.#unknownParts.push({ ...part, value: value && this.mask(value), ...known, reason });
  }

  async checkpoint() {
    const lists = [this.#notes, this.#unknownParts, this.#allocated, this.#registered];
    return {
      json: await this.#json.checkpoint(),
      csv: await this.#csv.checkpoint(),
      expectedRows: this.#expectedRows,
      lengths: lists.map((list) => ({ list, length: list.length })),
    };
  }

  /** Removes everything written after a checkpoint. */
  async rollback({ json, csv, expectedRows, lengths }: LandingCheckpoint): Promise<void> {
    await this.#json.rollback(json);
    await this.#csv.rollback(csv);
    const allocated = [...this.#allocated];
    this.#expectedRows = expectedRows;
    for (const { list, length } of lengths) list.length = length;
    for (const file of allocated.slice(this.#allocated.length)) await this.#remove(file);
  }

  /** Closes the files and writes the manifest. @param known what it says of how the rows were read */
  async commit(known: Pick<Manifest, 'reads' | 'installation'> = {}): Promise<Manifest> {
    const { directory, source, target, runId, asOf } = this.#options;
    const json = await this.#json.commit();
    const csv = await this.#csv.commit();
    const manifest: Manifest = {
      source,
      target: target.name,
      service: targetFingerprint(target),
      place: targetPlace(target),
      run_id: runId,
      as_of: asOf,
      files: [
        ...this.#registered,
        ...(json ? [{ ...json, format: 'ndjson' as const }] : []),
        ...(csv ? [{ ...csv, format: 'csv' as const, columns: this.#csvColumns }] : []),
      ],
      expected_rows: this.#expectedRows,
      ...(this.#notes.length > 0 && { notes: this.#notes }),
      ...(this.#unknownParts.length > 0 && { unknown_parts: this.#unknownParts }),
      ...known,
    };
    await writeManifest(directory, manifest);
    return manifest;
  }

  /** Removes the manifest, and keeps the data files under `.rejected` names for inspection. */
  async reject(): Promise<void> {
    await this.#close();
    for (const file of this.#files()) {
      const path = join(this.#options.directory, file);
      if (existsSync(path)) await rename(path, `${path.replace(/\.part$/u, '')}.rejected`);
    }
  }

  /** Removes the manifest and the data files, to free their disk space. */
  async discard(): Promise<void> {
    await this.#close();
    for (const file of this.#files()) await this.#remove(file);
  }

  async #close(): Promise<void> {
    await this.#remove(`${this.#options.source}.json`);
    await this.#json.close();
    await this.#csv.close();
  }

  #files(): ReadonlySet<string> {
    const { source } = this.#options;
    const written = [`${source}.ndjson.gz`, `${source}.csv.gz`].flatMap((name) => [name, `${name}.part`]);
    return new Set([...this.#allocated, ...written]);
  }

  #remove(file: string): Promise<void> {
    return rm(join(this.#options.directory, file), { force: true });
  }
}

/** Masks what a response shows as a secret and repeats elsewhere. */
function maskOwn(line: string, body: string): string {
  if (!mayContainSecret(body)) return line;
  const own = new Redactor();
  collectSecretFields(JSON.parse(body), (secret) => own.add(secret));
  return own.row(line);
}

/** JSON on one line, without secret fields. If it may have them, the text is written again, without the escapes that it does not need. */
export function cleanJson(json: string): string {
  const text = mayContainSecret(json)
    ? repairEscapes(stringify(stripSecretFields(parseLossless(json))) ?? 'null')
    : json;
  // Line breaks between tokens have no meaning; strings cannot contain raw ones.
  return /[\r\n]/u.test(text) ? text.replaceAll(/[\r\n]+/gu, ' ') : text;
}
