import { existsSync } from 'node:fs';
import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatTimestamp } from '../../core/clock.ts';
import { makeFolder, PRIVATE_FILE, writeFileAtomic } from '../../core/fs.ts';
import type { Guide } from '../findings/guide.ts';
import { formatTime, truncate } from './format.ts';
import type { ProductLinker } from './links.ts';
import type { Renderer } from './renderer.ts';
import { readSubjects } from './subject-data.ts';
import { type SubjectView, toSubjectView } from './subject-view.ts';
import { type SubjectOptions, type SubjectPage, type SubjectSelection, subjectPath } from './subjects.ts';
import { readTemplate } from './templates.ts';

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

/** Pages that are written at a time. */
const PARALLEL_WRITES = 16;

/** Writes the page of each selected subject and their list, and removes pages of subjects that are no longer selected. */
export async function writeSubjectPages(
  options: SubjectPagesOptions,
  selection: SubjectSelection,
  renderer: Renderer,
): Promise<void> {
  const { out, files } = options;
  const template = await readTemplate(files.roots, 'subject.hbs');
  const written = new Set<string>();
  await makeFolder(join(out, 'subjects'));
  const writes = new Set<Promise<void>>();
  try {
    for await (const data of readSubjects(options, selection.pages)) {
      const view = toSubjectView(data, { ...options, selection });
      const path = subjectPath(data.page);
      const write = replacePage(join(out, path), renderSubject(view, template, options, renderer));
      writes.add(write);
      // A failed write stays: it is thrown by the next wait. It may fail while the next subject is read.
      write.then(
        () => writes.delete(write),
        () => undefined,
      );
      written.add(path);
      if (writes.size >= PARALLEL_WRITES) await Promise.race(writes);
    }
  } finally {
    await Promise.allSettled(writes);
  }
  await Promise.all(writes);
  await removeOthers(out, written);
  await writeFileAtomic(join(out, SUBJECTS_PAGE), await renderList(options, selection, renderer));
}

/** Replaces a page. It can be written again at any time, so it need not survive a power failure. */
async function replacePage(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: PRIVATE_FILE });
  await rename(`${file}.new`, file);
}

export function renderSubject(
  subject: SubjectView,
  template: string,
  { asOf, root = '../', currentUntil }: { readonly asOf: Date; readonly root?: string; readonly currentUntil: Date },
  { html, assets }: Renderer,
): string {
  const page = { ...assets, current: 'subjects', run: null, current_until: formatTimestamp(currentUntil) };
  const context = { subject, as_of: formatTimestamp(asOf), root, page };
  return html.render('reports/subject.hbs', template, context);
}

async function removeOthers(out: string, written: ReadonlySet<string>): Promise<void> {
  const folder = join(out, 'subjects');
  if (!existsSync(folder)) return;
  for (const name of await readdir(folder)) {
    if (/\.html(?:\.new)?$/u.test(name) && !written.has(`subjects/${name}`)) await rm(join(folder, name));
  }
}

async function renderList(
  { files, asOf, generatedAt, currentUntil }: SubjectPagesOptions,
  { pages, present }: SubjectSelection,
  { html, assets }: Renderer,
): Promise<string> {
  const kinds = [...new Set(pages.map(({ kind }) => kind))];
  const context = {
    as_of: formatTimestamp(asOf),
    generated_at: formatTimestamp(generatedAt),
    total: pages.length,
    hidden: present - pages.filter(({ isPresent }) => isPresent).length,
    kinds: kinds.map((kind) => ({
      slug: kind.slug,
      type: kind.type,
      title: kind.title,
      subjects: pages.filter((page) => page.kind === kind).map(toListEntry),
    })),
    root: '',
    page: { ...assets, current: 'subjects', run: null, current_until: formatTimestamp(currentUntil) },
  };
  return html.render('reports/subjects.hbs', await readTemplate(files.roots, 'subjects.hbs'), context);
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
