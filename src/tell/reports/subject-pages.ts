import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatTimestamp } from '../../core/clock.ts';
import { makeFolder, PRIVATE_FILE, writeFileAtomic } from '../../core/fs.ts';
import { groupBy } from '../../core/group-by.ts';
import { createTemporaryFolder } from '../../warehouse/temporary-folder.ts';
import type { Guide } from '../findings/guide.ts';
import { formatTime, truncate } from './format.ts';
import type { ProductLinker } from './links.ts';
import type { Renderer } from './renderer.ts';
import { readSubjects, type SubjectView, toSubjectView } from './subject-view.ts';
import { type SubjectOptions, type SubjectPage, type SubjectSelection, subjectPath } from './subjects.ts';

interface SubjectPagesOptions extends SubjectOptions {
  readonly out: string;
  readonly generatedAt: Date;
  readonly linker: ProductLinker;
  readonly guide: readonly Guide[];
}

/** Name of the page that lists the subjects, below the folder of the reports. */
const SUBJECTS_PAGE = 'subjects.html';

/** Writes the page of each selected subject and their list, and removes pages of subjects that are no longer selected. */
export async function writeSubjectPages(options: SubjectPagesOptions, selection: SubjectSelection, renderer: Renderer) {
  const { out } = options;
  const pages = join(out, 'subjects');
  await makeFolder(pages);
  const folder = await createTemporaryFolder(pages); // another process may write the same pages
  try {
    for await (const data of readSubjects(options, selection.pages)) {
      const page = renderSubject(toSubjectView(data, { ...options, selection }), options.asOf, renderer);
      // It can be written again at any time, so it need not survive a power failure.
      await writeFile(join(folder, 'page'), page, { mode: PRIVATE_FILE });
      await rename(join(folder, 'page'), join(out, subjectPath(data.page)));
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  await removeOthers(out, new Set(selection.pages.map(subjectPath)));
  await writeFileAtomic(join(out, SUBJECTS_PAGE), renderList(options, selection, renderer));
}

/** @param root the folder of the reports, as seen from the page */
export function renderSubject(subject: SubjectView, asOf: Date, renderer: Renderer, root = '../'): string {
  return renderer.page('subject.hbs', 'subjects', { subject, as_of: formatTimestamp(asOf), root });
}

async function removeOthers(out: string, written: ReadonlySet<string>): Promise<void> {
  const folder = join(out, 'subjects');
  for (const name of await readdir(folder)) {
    const isOther = name.endsWith('.html') && !written.has(`subjects/${name}`);
    if (isOther) await rm(join(folder, name), { force: true });
  }
}

function renderList(
  { asOf, generatedAt }: SubjectPagesOptions,
  { pages, present }: SubjectSelection,
  renderer: Renderer,
): string {
  const kinds = [...groupBy(pages, ({ kind }) => kind)];
  return renderer.page('subjects.hbs', 'subjects', {
    as_of: formatTimestamp(asOf),
    generated_at: formatTimestamp(generatedAt),
    total: pages.length,
    hidden: present - pages.filter(({ isPresent }) => isPresent).length,
    kinds: kinds.map(([kind, own]) => ({ ...kind, subjects: own.map(toListEntry) })),
    root: '',
  });
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
