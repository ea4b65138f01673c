import { suggestName } from '../../config/suggest.ts';
import { TidemarkError } from '../../core/errors.ts';
import { discoverFiles } from '../../core/paths.ts';
import { sha256 } from '../../core/sha256.ts';
import { firstLine, type SqlParams } from '../../warehouse/database.ts';
import type { OpenWarehouse } from '../../warehouse/session.ts';
import { quoteLiteral, readHeader, readNumber, type SqlFiles } from '../../warehouse/sql-files.ts';
import { classifyStorageError } from '../../warehouse/storage.ts';
import { loadTables } from '../../warehouse/tables.ts';
import type { Row } from '../../warehouse/values.ts';
import { queryFile } from './data.ts';
import type { ProductLinker, SubjectRef } from './links.ts';

/** A kind of subject, as its file in `queries/subjects/` declares it. */
export type SubjectKind = Readonly<ReturnType<typeof loadSubjectKinds>[number]>;

/** A subject that has a page. */
export interface SubjectPage extends SubjectRef {
  readonly kind: SubjectKind;
  readonly name: string;
  /** What it belongs to, such as a project or namespace. */
  readonly place: string | null;
  readonly isPresent: boolean;
  /** When it was found to be gone; null while it is present. */
  readonly goneAt: string | null;
  readonly changedAt: string;
  readonly critical: number;
  /** Findings that are new or open. */
  readonly openFindings: number;
  /** Its findings in words, and since when it is gone. */
  readonly summary: string;
  /** Rules with an open or accepted finding, comma-separated. */
  readonly rules: string;
}

/** The kinds whose table the warehouse has: one of an earlier version lacks the newest. */
async function loadPresentKinds({ database, files }: SubjectOptions): Promise<readonly SubjectKind[]> {
  const tables = new Set((await database.rows(files.read('query/present_tables'))).map(({ name }) => name));
  return loadSubjectKinds(files).filter(({ table }) => tables.has(`${table.name}_history`));
}

export type SubjectSelection = Readonly<Awaited<ReturnType<typeof selectSubjects>>>;

/** With the published warehouse or the working copy. Temporary tables `subject_…` are created in its connection. */
export interface SubjectOptions extends OpenWarehouse {
  readonly asOf: Date;
}

const ORDER_LAST = 1000;

/**
 * The kinds of subjects in their order. A kind whose file has no `-- subject:` is a statement for all kinds. `slug`: the name of the file.
 * `type`: as findings have it. `title`: a heading. `table`: its columns describe the subject.
 */
export function loadSubjectKinds(files: SqlFiles) {
  const tables = loadTables(files);
  const declared = [...discoverFiles(files.roots, 'queries/subjects', '.sql').keys()].map((slug) => {
    const sql = files.read(`subjects/${slug}`);
    return { slug, sql, header: readHeader(`subjects/${slug}`, sql, ['subject', 'title', 'table', 'order']) };
  });
  const ordered = declared.sort(
    (a, b) => readNumber(a.header.order, ORDER_LAST) - readNumber(b.header.order, ORDER_LAST),
  );
  return ordered.flatMap(({ slug, sql, header }) => {
    if (header.subject === undefined) return [];
    const { subject, table: name, title = subject } = header;
    const table = tables.get(name ?? '');
    const problem =
      name === undefined
        ? 'the header line `-- table: …` is missing'
        : `unknown table ${name}: ${suggestName(name, tables.keys())}`;
    if (!table) throw new TidemarkError('DATA', `queries/subjects/${slug}.sql: ${problem}`);
    /** Every version with `target`, `subject_id`, `subject_name`, `place`, the columns, `valid_from`, `valid_to`. */
    const versions = sql.replaceAll(/^\s*--.*$|;\s*$/gmu, '').trim();
    return [{ slug, type: subject, title, table, versions }];
  });
}

/** Path of a subject's page below the folder of the reports. It depends on nothing but the subject. */
export function subjectPath({ target, type, id }: Pick<SubjectRef, 'target' | 'type' | 'id'>): string {
  const hash = sha256(JSON.stringify([target, type, id])).slice(0, 12);
  return `subjects/${toSlug(type)}-${toSlug(id)}-${hash}.html`;
}

const MAX_SLUG_LENGTH = 40;

/** Letters, digits and dashes: `KMS provider` → `kms-provider`. */
export function toSlug(text: string): string {
  const slug = text.toLowerCase().replaceAll(/[^a-z0-9]+/gu, '-');
  return slug.slice(0, MAX_SLUG_LENGTH).replaceAll(/^-+|-+$/gu, '') || 'x';
}

/**
 * Selects the subjects that get a page: those with open findings first, then those that changed last, up to `limit`; with `only`,
 * exactly these.
 */
export async function selectSubjects(
  options: SubjectOptions,
  { limit, only }: { readonly limit: number; readonly only?: readonly SubjectRef[] },
) {
  const kinds = await loadPresentKinds(options);
  const failures = await createCandidates(options);
  const read = async (name: string, params: SqlParams = {}) =>
    querySubjects(options, name, options.files.read(`subjects/${name}`), { limit, ...params });
  let rows: readonly Row[] = [];
  if (limit > 0 || only !== undefined) {
    await read('findings');
    await read('pages', { only: only ? JSON.stringify(only) : null });
    rows = await read('list');
  }
  const pages = kinds.flatMap((kind) =>
    rows.filter(({ type }) => type === kind.type).map((row) => ({ ...row, kind }) as unknown as SubjectPage),
  );
  const keys = new Set(pages.map(({ type, target, id }) => subjectKey(type, target, id)));
  const [totals] = await read('totals');
  return {
    /** By kind, then by name. */
    pages,
    has: (type: string, target: string, id: string) => keys.has(subjectKey(type, target, id)),
    /** Subjects that are present, with or without a page. */
    present: Number(totals?.present ?? 0),
    /** Why kinds are left out. */
    failures,
  };
}

export function subjectKey(type: unknown, target: unknown, id: unknown): string {
  return JSON.stringify([type, target, id]);
}

/**
 * Creates `subject_candidates`: one row for each subject that was ever seen, of all kinds but those whose query fails.
 * @param types the subject types of these kinds alone
 * @returns why these are left out
 * @throws TidemarkError DATA where the query of every kind fails, and no types are given
 */
export async function createCandidates(options: SubjectOptions, types?: ReadonlySet<string>) {
  const { files } = options;
  const kinds = (await loadPresentKinds(options)).filter(({ type }) => types?.has(type) ?? true);
  const failures: TidemarkError[] = [];
  await querySubjects(options, 'begin', files.read('subjects/begin'));
  for (const { slug, type, versions } of kinds) {
    const sql = files.render('subjects/candidates', {
      subject: quoteLiteral(type),
      slug: quoteLiteral(slug),
      versions,
    });
    await querySubjects(options, slug, sql).catch(({ cause }: Error) => {
      if (classifyStorageError(cause)) throw cause;
      failures.push(new TidemarkError('DATA', `queries/subjects/${slug}.sql: ${firstLine(cause)}`, { cause }));
    });
  }
  const [failure] = failures;
  if (failure && failures.length === kinds.length && types === undefined) throw failure;
  return failures;
}

/** `name`: ID or name. */
export type SubjectQuery = Pick<NamedSubject, 'name'> & Partial<Pick<SubjectRef, 'type' | 'target'>>;

export interface SubjectMatch extends SubjectRef {
  readonly slug: string;
  /** Whether it has the ID or name; otherwise its name is similar. */
  readonly isMatch: boolean;
}

/** The subjects with an ID or name, whether they have a page or not; without any, the five with the most similar names. */
export async function findSubjects(options: SubjectOptions, query: SubjectQuery): Promise<readonly SubjectMatch[]> {
  const { files } = options;
  const [failure] = await createCandidates(options);
  const sql = files.read('subjects/find');
  const rows = await querySubjects(options, 'find', sql, { type: null, target: null, ...query });
  if (failure && !rows.some(({ isMatch }) => isMatch)) throw failure;
  return rows as unknown as readonly SubjectMatch[];
}

/** A subject as a cell of a table names it: the ID may be its name. */
export type NamedSubject = SubjectRef & { readonly name: string };

/** Runs a statement of `queries/subjects/`, which a user may override. @throws TidemarkError DATA naming the file */
export function querySubjects({ database, asOf }: SubjectOptions, file: string, sql: string, params: SqlParams = {}) {
  return queryFile(database, `subjects/${file}`, sql, { as_of: asOf.toISOString(), ...params });
}

/** The address of a subject: its page, below the folder of the reports, or that of the product; undefined if it has neither. */
export type SubjectLinker = (subject: NamedSubject) => string | undefined;

export interface SubjectLinks {
  readonly linkSubject?: SubjectLinker | undefined;
  readonly linkProduct?: ProductLinker | undefined;
}

/** Links a subject by its ID; where a row has no ID, by its name, or namespace and name, if only one subject has it. */
export function createSubjectLinker(selection: SubjectSelection, linkProduct: ProductLinker): SubjectLinker {
  const byName = new Map<string, SubjectPage | null>();
  for (const page of selection.pages) {
    for (const name of [page.name, `${page.place}/${page.name}`]) {
      const key = subjectKey(page.type, page.target, name);
      byName.set(key, byName.has(key) ? null : page);
    }
  }
  return (subject) => {
    const { type, target, id, name } = subject;
    if (selection.has(type, target, id)) return subjectPath(subject);
    if (id !== name) return linkProduct(subject);
    const page = byName.get(subjectKey(type, target, name));
    return page ? subjectPath(page) : undefined;
  };
}
