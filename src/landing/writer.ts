import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Target } from '../config/config.ts';
import { makeFolder } from '../core/fs.ts';
import type { Redactor } from '../core/redact/redactor.ts';
import { isSecretField } from '../core/redact/secret-fields.ts';
import { dropColumns, keepRejected, type LineCheckpoint, LineWriter, maskFile } from './line-writer.ts';
import { type ObjectTag, TAG_FIELD } from './objects.ts';
import { type CollectedRows, collectRows, stripSecrets, toOneLine } from './rows.ts';
import {
  type LandingFile,
  type Manifest,
  type ReadState,
  targetFingerprint,
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
interface LandingCheckpoint {
  readonly json: LineCheckpoint;
  readonly csv: LineCheckpoint;
  readonly expectedRows: number | undefined;
  readonly notes: number;
  readonly unknownParts: number;
  readonly allocated: number;
  readonly registered: number;
}

/**
 * Writes the landing of one source of one target: data files, then a manifest. No secret reaches the disk: fields that contain
 * secrets by name are dropped, known secret values are masked.
 */
export class LandingWriter {
  readonly #options: LandingOptions;
  readonly #json: LineWriter;
  readonly #csv: LineWriter;
  readonly #start: Promise<LandingCheckpoint>;
  #csvColumns: readonly string[] = [];
  #expectedRows: number | undefined;
  readonly #notes: string[] = [];
  readonly #unknownParts: UnknownPart[] = [];
  #reads: ReadState | undefined;
  /** Names of files that were allocated, complete or not. */
  readonly #allocated: string[] = [];
  readonly #registered: LandingFile[] = [];
  #collections = 0;

  constructor(options: LandingOptions) {
    const { directory, source } = options;
    this.#options = options;
    this.#json = new LineWriter(directory, `${source}.ndjson.gz`);
    this.#csv = new LineWriter(directory, `${source}.csv.gz`, () => `${this.#csvColumns.join(',')}\n`);
    this.#start = this.checkpoint();
  }

  /** Writes one line: `fields`, and under `body` the JSON text of a response with its numbers as they came. */
  writeJson(fields: Readonly<Record<string, string | number | null>>, body?: string): Promise<void> {
    return this.#json.write(this.#options.redactor.text(formatLine(fields, body)));
  }

  /** Writes one line as `writeJson` does, with a tag by which the next pull finds it. */
  writeObject(tag: ObjectTag, fields: Readonly<Record<string, string | number | null>>, body: string): Promise<void> {
    return this.#json.write(this.#options.redactor.text(formatLine({ [TAG_FIELD]: tag, ...fields }, body)));
  }

  /** Writes lines of an earlier landing again. */
  copyLines(lines: readonly string[]): Promise<void> {
    return this.#json.write(this.#options.redactor.text(lines.join('')));
  }

  /** Records how the objects of the landing were read. */
  setReads(reads: ReadState): void {
    this.#reads = reads;
  }

  /** Writes lines of CSV. `columns` is the header, the same in every call. */
  writeCsv(columns: readonly string[], lines: string): Promise<void> {
    this.#csvColumns = columns;
    return this.#csv.write(this.#options.redactor.text(lines));
  }

  /** Rows of CSV that are written together, or not at all. `columns` is the header, the same in every call. */
  collectRows(columns: readonly string[]): CollectedRows {
    const { directory, source, redactor } = this.#options;
    const lines = new LineWriter(directory, `${source}.rows-${++this.#collections}`);
    const write = () => {
      this.#csvColumns = columns;
      return this.#csv.append(lines);
    };
    return collectRows(lines, redactor, write);
  }

  /** Reserves a file that the caller writes, compressed. @returns its path; `register` then adds it to the landing */
  async allocate(extension: string): Promise<string> {
    const { directory, source } = this.#options;
    await makeFolder(directory);
    const file = `${source}.${extension}.gz`;
    this.#allocated.push(file);
    return join(directory, file);
  }

  async register(file: LandingFile, { containsSecret }: { readonly containsSecret: boolean }): Promise<void> {
    const { directory, redactor } = this.#options;
    const path = join(directory, file.file);
    const withoutColumns = file.columns?.some(isSecretField) && (await dropColumns(path, file.columns, isSecretField));
    this.#registered.push({ ...file, ...withoutColumns, ...(containsSecret && (await maskFile(path, redactor))) });
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

  /** Records that a part of the rows could not be listed: the pull is then partial. */
  addUnknown(part: UnknownPart): void {
    this.#unknownParts.push({ ...part, reason: this.#options.redactor.text(part.reason) });
  }

  async checkpoint(): Promise<LandingCheckpoint> {
    return {
      json: await this.#json.checkpoint(),
      csv: await this.#csv.checkpoint(),
      expectedRows: this.#expectedRows,
      notes: this.#notes.length,
      unknownParts: this.#unknownParts.length,
      allocated: this.#allocated.length,
      registered: this.#registered.length,
    };
  }

  /** Removes everything written after a checkpoint. @default everything */
  async rollback(to?: LandingCheckpoint): Promise<void> {
    const state = to ?? (await this.#start);
    await this.#json.rollback(state.json);
    await this.#csv.rollback(state.csv);
    this.#expectedRows = state.expectedRows;
    this.#notes.splice(state.notes);
    this.#unknownParts.splice(state.unknownParts);
    this.#registered.splice(state.registered);
    for (const file of this.#allocated.splice(state.allocated)) await this.#remove(file);
  }

  /** Closes the files and writes the manifest. */
  async commit(): Promise<Manifest> {
    const { directory, source, target, runId, asOf } = this.#options;
    const json = await this.#json.commit();
    const csv = await this.#csv.commit();
    const manifest: Manifest = {
      source,
      target: target.name,
      service: targetFingerprint(target),
      run_id: runId,
      as_of: asOf,
      files: [
        ...this.#registered,
        ...(json ? [{ ...json, format: 'ndjson' as const }] : []),
        ...(csv ? [{ ...csv, format: 'csv' as const, columns: this.#csvColumns }] : []),
      ],
      expected_rows: this.#expectedRows ?? null,
      ...(this.#notes.length > 0 && { notes: this.#notes }),
      ...(this.#unknownParts.length > 0 && { unknown_parts: this.#unknownParts }),
      ...(this.#reads && { reads: this.#reads }),
    };
    await writeManifest(directory, manifest);
    return manifest;
  }

  /** Removes the manifest, and keeps the data files under `.rejected` names for inspection. */
  async reject(): Promise<void> {
    await this.#close();
    for (const file of this.#files()) {
      await keepRejected(join(this.#options.directory, file), this.#options.redactor);
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

  /** Names of all data files that may exist. */
  #files(): ReadonlySet<string> {
    const { source } = this.#options;
    const written = [`${source}.ndjson.gz`, `${source}.csv.gz`].flatMap((name) => [name, `${name}.part`]);
    return new Set([...this.#allocated, ...written]);
  }

  #remove(file: string): Promise<void> {
    return rm(join(this.#options.directory, file), { force: true });
  }
}

function formatLine(
  fields: Readonly<Record<string, string | number | null | ObjectTag>>,
  body: string | undefined,
): string {
  const start = JSON.stringify(fields).slice(0, -1);
  if (body === undefined) return `${start}}\n`;
  const comma = start === '{' ? '' : ',';
  return `${start}${comma}"body":${toOneLine(stripSecrets(body))}}\n`;
}
