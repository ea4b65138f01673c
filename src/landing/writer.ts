import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Target } from '../config/config.ts';
import { makeFolder } from '../core/fs.ts';
import { Redactor } from '../core/redact/redactor.ts';
import { cleanJson, collectSecretFields, isSecretField, mayContainSecret } from '../core/redact/secret-fields.ts';
import { repairEscapes } from '../core/well-formed.ts';
import { dropColumns } from './csv.ts';
import { createLineWriter } from './line-writer.ts';
import { type ObjectTag, TAG_FIELD } from './objects.ts';
import { identifyTarget, type LandingFile, type Manifest, type UnknownPart, writeManifest } from './store.ts';

interface LandingOptions {
  /** `data/landing/RUN/TARGET`; made when the first file needs it. */
  readonly directory: string;
  readonly source: string;
  readonly target: Target;
  readonly runId: string;
  /** ISO 8601. */
  readonly asOf: string;
  readonly redactor: Redactor;
  /** Counts what is given to `expectRows`, for the progress display. */
  readonly metrics?: { rows: number };
}

export type LandingWriter = Readonly<ReturnType<typeof createLandingWriter>>;

/**
 * Writes the landing of one source of one target: data files, then a manifest. No secret reaches the disk: fields that contain
 * secrets by name are dropped, known secret values are masked.
 */
export function createLandingWriter(options: LandingOptions) {
  const { directory, source, target, runId, asOf, redactor, metrics } = options;
  const json = createLineWriter(directory, `${source}.ndjson.gz`);
  const csv = createLineWriter(directory, `${source}.csv.gz`);
  let csvColumns: readonly string[] = [];
  let expectedRows: number | null = null;
  const notes: string[] = [];
  const unknownParts: UnknownPart[] = [];
  /** Names of files that were allocated, complete or not. */
  const allocated: string[] = [];
  const registered: LandingFile[] = [];
  const lists = [notes, unknownParts, allocated, registered];

  const pathOf = (file: string) => join(directory, file);
  const remove = (file: string) => rm(pathOf(file), { force: true });
  const mask = (text: string): string => redactor.row(text);
  const copyLine = (line: string): Promise<void> => json.write(mask(line));
  /** Removes the manifest. @returns the names of the data files */
  const close = async (): Promise<readonly string[]> => {
    await remove(`${source}.json`);
    await json.close();
    await csv.close();
    const written = [`${source}.ndjson.gz`, `${source}.csv.gz`].flatMap((name) => [name, `${name}.part`]);
    return [...new Set([...allocated, ...written])];
  };
  const checkpoint = async () => ({
    json: await json.checkpoint(),
    csv: await csv.checkpoint(),
    expectedRows,
    lengths: lists.map((list) => list.length),
  });
  return {
    /**
     * Writes one line: `fields`, and under `body` the JSON text of a response with its numbers as they came.
     * @param tag what the next pull finds the line by
     */
    writeJson(fields: Readonly<Record<string, string | number | null>>, body?: string, tag?: ObjectTag): Promise<void> {
      const start = repairEscapes(JSON.stringify(tag ? { [TAG_FIELD]: tag, ...fields } : fields)).slice(0, -1);
      const comma = start === '{' ? '' : ',';
      if (body === undefined) return copyLine(`${start}}\n`);
      return copyLine(maskOwn(`${start}${comma}"body":${cleanJson(body)}}\n`, body));
    },

    /** Writes a line of an earlier landing again. */
    copyLine,

    /** Writes lines of CSV. `columns` is the header, the same in every call. */
    writeCsv(columns: readonly string[], lines: string): Promise<void> {
      csvColumns = columns;
      const header = csv.isEmpty() ? `${columns.join(',')}\n` : '';
      return csv.write(header + mask(lines));
    },

    mask,

    /** Reserves a CSV file that the caller writes, compressed. @returns its path; `register` then adds it to the landing */
    async allocate(): Promise<string> {
      await makeFolder(directory);
      const { length } = allocated;
      const file = `${source}.${length === 0 ? '' : `${length}.`}csv.gz`;
      allocated.push(file);
      return pathOf(file);
    },

    /** Adds a file that was allocated, in which known secrets are masked. */
    async register(file: LandingFile): Promise<void> {
      const { columns = [] } = file;
      const isKept = !columns.some(isSecretField);
      registered.push(isKept ? file : { ...file, ...(await dropColumns(pathOf(file.file), columns, isSecretField)) });
    },

    /** Adds to the number of rows that the service reports. */
    expectRows(rows: number): void {
      expectedRows = (expectedRows ?? 0) + rows;
      if (metrics) metrics.rows += rows;
    },

    /** Adds a sentence to the note of the pull: something a reader of the rows should know. */
    addNote: (text: string) => void notes.push(redactor.text(text)),

    /** Records that a part of the rows could not be listed: the pull is then partial. Its values are masked as they are in its rows. */
    addUnknown({ value, within, ...part }: UnknownPart): void {
      const known = within && { within: { ...within, value: mask(within.value) } };
      unknownParts.push({ ...part, value: value && mask(value), ...known, reason: redactor.text(part.reason) });
    },

    checkpoint,

    /** Removes everything written after a checkpoint. */
    async rollback(to: Awaited<ReturnType<typeof checkpoint>>): Promise<void> {
      await json.rollback(to.json);
      await csv.rollback(to.csv);
      expectedRows = to.expectedRows;
      const files = [...allocated];
      for (const [index, list] of lists.entries()) list.length = to.lengths[index] ?? 0;
      for (const file of files.slice(allocated.length)) await remove(file);
    },

    /** Closes the files and writes the manifest. @param known what it says of how the rows were read */
    async commit(known: Pick<Manifest, 'reads' | 'installation'> = {}): Promise<Manifest> {
      const writtenJson = await json.commit();
      const writtenCsv = await csv.commit();
      const manifest: Manifest = {
        source,
        ...identifyTarget(target),
        run_id: runId,
        as_of: asOf,
        files: [
          ...registered,
          ...(writtenJson ? [{ ...writtenJson, format: 'ndjson' as const }] : []),
          ...(writtenCsv ? [{ ...writtenCsv, format: 'csv' as const, columns: csvColumns }] : []),
        ],
        expected_rows: expectedRows,
        ...(notes.length > 0 && { notes }),
        ...(unknownParts.length > 0 && { unknown_parts: unknownParts }),
        ...known,
      };
      await writeManifest(directory, manifest);
      return manifest;
    },

    /** Removes the manifest, and keeps the data files under `.rejected` names for inspection. */
    async reject(): Promise<void> {
      for (const path of (await close()).map(pathOf)) {
        if (existsSync(path)) await rename(path, `${path.replace(/\.part$/u, '')}.rejected`);
      }
    },

    /** Removes the manifest and the data files, to free their disk space. */
    async discard(): Promise<void> {
      for (const file of await close()) await remove(file);
    },
  };
}

/** Masks what a response shows as a secret and repeats elsewhere. */
function maskOwn(line: string, body: string): string {
  if (!mayContainSecret(body)) return line;
  const own = new Redactor();
  collectSecretFields(JSON.parse(body), (secret) => own.add(secret));
  return own.row(line);
}
