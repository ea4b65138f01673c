import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatTimestamp } from '../../core/clock.ts';
import { makeFolder, PRIVATE_FILE, writeFileAtomic } from '../../core/fs.ts';
import { quoteLiteral } from '../../warehouse/sql-files.ts';
import type { Row } from '../../warehouse/values.ts';
import type { Guide } from '../findings/guide.ts';
import { formatTime, truncate } from './format.ts';
import type { ProductLinker } from './links.ts';
import type { Renderer } from './renderer.ts';
import { type SubjectView, toSubjectView } from './subject-view.ts';
import {
  querySubjects,
  type SubjectKind,
  type SubjectOptions,
  type SubjectPage,
  type SubjectSelection,
  subjectKey,
  subjectPath,
} from './subjects.ts';

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
  for (const kind of new Set(pages.map((page) => page.kind))) {
    const own = await readKind(options, kind);
    for (const page of pages) if (page.kind === kind) yield toSubjectData(page, own, shared);
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

export interface SubjectPagesOptions extends SubjectOptions {
  readonly out: string;
  readonly generatedAt: Date;
  readonly linker: ProductLinker;
  readonly guide: readonly Guide[];
  /** Until when the pages are current. */
  readonly currentUntil: Date;
}

/** Name of the page that lists the subjects, below the folder of the reports. */
const SUBJECTS_PAGE = 'subjects.html';

/** Writes the page of each selected subject and their list, and removes pages of subjects that are no longer selected. */
export async function writeSubjectPages(
  options: SubjectPagesOptions,
  selection: SubjectSelection,
  renderer: Renderer,
): Promise<void> {
  const { out } = options;
  await makeFolder(join(out, 'subjects'));
  for await (const data of readSubjects(options, selection.pages)) {
    const page = await renderSubject(toSubjectView(data, { ...options, selection }), options, renderer);
    await replacePage(join(out, subjectPath(data.page)), page);
  }
  await removeOthers(out, new Set(selection.pages.map(subjectPath)));
  await writeFileAtomic(join(out, SUBJECTS_PAGE), await renderList(options, selection, renderer));
}

/** Replaces a page. It can be written again at any time, so it need not survive a power failure. */
async function replacePage(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: PRIVATE_FILE });
  await rename(`${file}.new`, file);
}

export function renderSubject(
  subject: SubjectView,
  { asOf, root = '../', currentUntil }: { readonly asOf: Date; readonly root?: string; readonly currentUntil: Date },
  renderer: Renderer,
): Promise<string> {
  const context = { subject, as_of: formatTimestamp(asOf), root };
  return renderer.page('subject.hbs', { current: 'subjects', currentUntil }, context);
}

async function removeOthers(out: string, written: ReadonlySet<string>): Promise<void> {
  const folder = join(out, 'subjects');
  for (const name of await readdir(folder)) {
    if (/\.html(?:\.new)?$/u.test(name) && !written.has(`subjects/${name}`)) await rm(join(folder, name));
  }
}

function renderList(
  { asOf, generatedAt, currentUntil }: SubjectPagesOptions,
  { pages, present }: SubjectSelection,
  renderer: Renderer,
): Promise<string> {
  const kinds = [...new Set(pages.map(({ kind }) => kind))];
  return renderer.page(
    'subjects.hbs',
    { current: 'subjects', currentUntil },
    {
      as_of: formatTimestamp(asOf),
      generated_at: formatTimestamp(generatedAt),
      total: pages.length,
      hidden: present - pages.filter(({ isPresent }) => isPresent).length,
      kinds: kinds.map((kind) => ({
        ...kind,
        subjects: pages.filter((page) => page.kind === kind).map(toListEntry),
      })),
      root: '',
    },
  );
}

function toListEntry(page: SubjectPage): object {
  return {
    id: truncate(page.id),
    href: subjectPath(page),
    name: truncate(page.name),
    place: truncate(page.place ?? ''),
    gone: !page.isPresent,
    open: page.openFindings,
    critical: page.critical,
    rules: page.rules,
    changed: formatTime(page.goneAt ?? page.changedAt).slice(0, 10),
  };
}
