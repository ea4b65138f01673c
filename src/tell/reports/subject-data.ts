import { quoteLiteral } from '../../warehouse/sql-files.ts';
import type { Row } from '../../warehouse/values.ts';
import { querySubjects, type SubjectKind, type SubjectOptions, type SubjectPage, subjectKey } from './subjects.ts';

/** The statements for all kinds, and most rows of each that a page shows; 0 where it has all of them. */
const SHARED = { page_findings: 0, finding_events: 0, actions: 0, related: 50, gaps: 20 } as const;
/** Times of the history that a page shows. */
const MAX_TIMES = 50;

/** The rows of each subject; those of a source by target and source. */
type RowsByKey = ReadonlyMap<string, readonly Row[]>;

/** All that the page of one subject shows, as rows of `queries/subjects/`. */
export interface SubjectData extends Readonly<Record<keyof typeof SHARED | 'timeline', readonly Row[]>> {
  readonly page: SubjectPage;
  /** The last version of its row. */
  readonly present: Row;
}

/** Reads what the selected subjects' pages show, kind by kind: a fixed number of statements, whatever the number of subjects. */
export async function* readSubjects(
  options: SubjectOptions,
  pages: readonly SubjectPage[],
): AsyncGenerator<SubjectData> {
  if (pages.length === 0) return;
  const shared = new Map<string, RowsByKey>();
  for (const [name, limit] of Object.entries(SHARED)) {
    const sql = options.files.read(`subjects/${name}`);
    shared.set(name, groupRows(await querySubjects(options, name, sql, { limit })));
  }
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

async function readKind(options: SubjectOptions, { slug, type, versions, table }: SubjectKind) {
  const parts = { subject: quoteLiteral(type), versions, source: quoteLiteral(table.source ?? '') };
  const read = async (file: string) => {
    const sql = options.files.render(`subjects/${file}`, parts);
    return groupRows(await querySubjects(options, slug, sql, { limit: MAX_TIMES }), type);
  };
  return { present: await read('present'), timeline: await read('timeline') };
}

function groupRows(rows: readonly Row[], type?: string): RowsByKey {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = subjectKey(type ?? row.subject_type, row.target, row.subject_id ?? row.source);
    const group = groups.get(key) ?? [];
    groups.set(key, group);
    group.push(row);
  }
  return groups;
}

function toSubjectData(
  page: SubjectPage,
  own: Awaited<ReturnType<typeof readKind>>,
  shared: ReadonlyMap<string, RowsByKey>,
): SubjectData {
  const { type, target, id, kind } = page;
  const take = (rows: RowsByKey | undefined, name?: string) =>
    rows?.get(name === 'gaps' ? subjectKey(undefined, target, kind.table.source) : subjectKey(type, target, id)) ?? [];
  const rows = Object.fromEntries([...shared].map(([name, groups]) => [name, take(groups, name)]));
  return {
    ...(rows as Record<keyof typeof SHARED, readonly Row[]>),
    page,
    present: take(own.present)[0] ?? {},
    timeline: take(own.timeline),
  };
}
