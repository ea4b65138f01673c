import { quoteLiteral } from '../../warehouse/sql-files.ts';
import type { Row } from '../../warehouse/values.ts';
import {
  asOfParam,
  readSubjectRows,
  type SubjectKind,
  type SubjectOptions,
  type SubjectPage,
  subjectKey,
} from './subjects.ts';

/** Times of the history, gaps and related subjects that a page shows. */
const MAX_TIMES = 50;
const MAX_GAPS = 20;
const MAX_RELATED = 50;

/** All that the page of one subject shows, as rows of `queries/subjects/`. */
export interface SubjectData {
  readonly page: SubjectPage;
  /** The last version of its row. */
  readonly present: Row;
  readonly timeline: readonly Row[];
  readonly findings: readonly Row[];
  readonly findingEvents: readonly Row[];
  readonly actions: readonly Row[];
  readonly related: readonly Row[];
  /** Periods without a complete pull of its source. */
  readonly gaps: readonly Row[];
}

/** Reads what the selected subjects' pages show, kind by kind: a fixed number of statements, whatever the number of subjects. */
export async function* readSubjects(
  options: SubjectOptions,
  pages: readonly SubjectPage[],
): AsyncGenerator<SubjectData> {
  if (pages.length === 0) return;
  const shared = await readShared(options);
  const kinds = [...new Set(pages.map(({ kind }) => kind))];
  const read = (kind: SubjectKind | undefined) => kind && readKind(options, kind);
  let next = read(kinds[0]);
  try {
    for (const [index, kind] of kinds.entries()) {
      const own = await next;
      next = read(kinds[index + 1]); // while the consumer renders
      for (const page of pages) if (own && page.kind === kind) yield toSubjectData(page, own, shared);
    }
  } finally {
    await Promise.allSettled([next]); // a consumer that stops early closes the connection, on which no query may run then
  }
}

type RowsByKey = ReadonlyMap<string, readonly Row[]>;

type Shared = Readonly<Record<'findings' | 'findingEvents' | 'actions' | 'related' | 'gaps', RowsByKey>>;

async function readShared(options: SubjectOptions): Promise<Shared> {
  const bySubject = ({ subject_type, target, subject_id }: Row) => subjectKey(subject_type, target, subject_id);
  const read = async (name: string, limit: number, key: (row: Row) => string = bySubject) =>
    groupRows(await readRows(options, name, await options.files.read(`subjects/${name}`), limit), key);
  return {
    findings: await read('page_findings', 0),
    findingEvents: await read('finding_events', 0),
    actions: await read('actions', 0),
    related: await read('related', MAX_RELATED),
    gaps: await read('gaps', MAX_GAPS, ({ target, source }) => subjectKey('gap', target, source)),
  };
}

async function readKind(
  options: SubjectOptions,
  kind: SubjectKind,
): Promise<{ present: RowsByKey; timeline: RowsByKey }> {
  const { files } = options;
  const parts = {
    subject: quoteLiteral(kind.type),
    versions: kind.versions,
    source: quoteLiteral(kind.table.source ?? ''),
  };
  const key = ({ target, subject_id }: Row) => subjectKey(kind.type, target, subject_id);
  return {
    present: groupRows(await readRows(options, kind.slug, await files.render('subjects/present', parts), 0), key),
    timeline: groupRows(
      await readRows(options, kind.slug, await files.render('subjects/timeline', parts), MAX_TIMES),
      key,
    ),
  };
}

function readRows(options: SubjectOptions, file: string, sql: string, limit: number): Promise<readonly Row[]> {
  return readSubjectRows(options, file, sql, { ...asOfParam(options), limit });
}

function groupRows(rows: readonly Row[], toKey: (row: Row) => string): RowsByKey {
  const groups = new Map<string, Row[]>();
  let last: { readonly row: Row; readonly group: Row[] } | undefined;
  for (const row of rows) {
    if (last && KEY_COLUMNS.every((column) => last?.row[column] === row[column])) {
      last.group.push(row);
      continue;
    }
    const key = toKey(row);
    const group = groups.get(key) ?? [];
    group.push(row);
    groups.set(key, group);
    last = { row, group };
  }
  return groups;
}

/** Most rows are those of the subject before: to compare the columns of keys is faster than to make another key. */
const KEY_COLUMNS = ['subject_type', 'target', 'subject_id', 'source'] as const;

function toSubjectData(
  page: SubjectPage,
  { present, timeline }: { readonly present: RowsByKey; readonly timeline: RowsByKey },
  shared: Shared,
): SubjectData {
  const key = subjectKey(page.type, page.target, page.id);
  return {
    page,
    present: present.get(key)?.[0] ?? {},
    timeline: timeline.get(key) ?? [],
    findings: shared.findings.get(key) ?? [],
    findingEvents: shared.findingEvents.get(key) ?? [],
    actions: shared.actions.get(key) ?? [],
    related: shared.related.get(key) ?? [],
    gaps: shared.gaps.get(subjectKey('gap', page.target, page.kind.table.source ?? '')) ?? [],
  };
}
