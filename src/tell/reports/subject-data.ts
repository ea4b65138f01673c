import { quoteLiteral } from '../../warehouse/sql-files.ts';
import type { Row } from '../../warehouse/values.ts';
import { readSubjectRows, type SubjectKind, type SubjectOptions, type SubjectPage, subjectKey } from './subjects.ts';

/** Times of the history, gaps and related subjects that a page shows. */
const MAX_TIMES = 50;
const MAX_GAPS = 20;
const MAX_RELATED = 50;

/** The statements for all kinds, with what they are limited to. */
const SHARED = {
  findings: { file: 'page_findings', limit: 0 },
  findingEvents: { file: 'finding_events', limit: 0 },
  actions: { file: 'actions', limit: 0 },
  related: { file: 'related', limit: MAX_RELATED },
  /** Periods without a complete pull of its source. */
  gaps: { file: 'gaps', limit: MAX_GAPS },
} as const;

type RowsByKey = ReadonlyMap<string, readonly Row[]>;
type Shared = Readonly<Record<keyof typeof SHARED, RowsByKey>>;

/** All that the page of one subject shows, as rows of `queries/subjects/`. */
export interface SubjectData extends Readonly<Record<keyof typeof SHARED, readonly Row[]>> {
  readonly page: SubjectPage;
  /** The last version of its row. */
  readonly present: Row;
  readonly timeline: readonly Row[];
}

/** Reads what the selected subjects' pages show, kind by kind: a fixed number of statements, whatever the number of subjects. */
export async function* readSubjects(
  options: SubjectOptions,
  pages: readonly SubjectPage[],
): AsyncGenerator<SubjectData> {
  if (pages.length === 0) return;
  const { files } = options;
  const shared: Partial<Record<keyof typeof SHARED, RowsByKey>> = {};
  for (const [name, { file, limit }] of Object.entries(SHARED)) {
    const rows = await readSubjectRows(options, file, await files.read(`subjects/${file}`), limit);
    shared[name as keyof typeof SHARED] = groupRows(rows);
  }
  const kinds = [...new Set(pages.map(({ kind }) => kind))];
  const read = (kind: SubjectKind | undefined) => kind && readKind(options, kind);
  let next = read(kinds[0]);
  try {
    for (const [index, kind] of kinds.entries()) {
      const own = await next;
      next = read(kinds[index + 1]); // while the consumer renders
      for (const page of pages) if (own && page.kind === kind) yield toSubjectData(page, own, shared as Shared);
    }
  } finally {
    await Promise.allSettled([next]); // a consumer that stops early closes the connection, on which no query may run then
  }
}

async function readKind(options: SubjectOptions, { slug, type, versions, table }: SubjectKind) {
  const parts = { subject: quoteLiteral(type), versions, source: quoteLiteral(table.source ?? '') };
  const read = async (file: string) =>
    groupRows(
      await readSubjectRows(options, slug, await options.files.render(`subjects/${file}`, parts), MAX_TIMES),
      type,
    );
  return { present: await read('present'), timeline: await read('timeline') };
}

/** By subject; those of a source by target and source. */
function groupRows(rows: readonly Row[], type?: string): RowsByKey {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = subjectKey(type ?? row.subject_type, row.target, row.subject_id ?? row.source);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  return groups;
}

function toSubjectData(
  page: SubjectPage,
  { present, timeline }: { readonly present: RowsByKey; readonly timeline: RowsByKey },
  shared: Shared,
): SubjectData {
  const key = subjectKey(page.type, page.target, page.id);
  const take = (rows: RowsByKey, own = key) => rows.get(own) ?? [];
  return {
    page,
    present: take(present)[0] ?? {},
    timeline: take(timeline),
    findings: take(shared.findings),
    findingEvents: take(shared.findingEvents),
    actions: take(shared.actions),
    related: take(shared.related),
    gaps: take(shared.gaps, subjectKey(undefined, page.target, page.kind.table.source)),
  };
}
