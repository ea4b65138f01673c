import { dirname, relative, sep } from 'node:path';
import type { Config } from '../config/config.ts';
import { formatTimestamp } from '../core/clock.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { writeFileAtomic } from '../core/fs.ts';
import { stripControls } from '../core/log.ts';
import { loadGuide } from '../tell/findings/guide.ts';
import { toJsonText } from '../tell/reports/data.ts';
import { currentUntil } from '../tell/reports/index.ts';
import { createProductLinker } from '../tell/reports/links.ts';
import { createRenderer } from '../tell/reports/renderer.ts';
import { renderSubject } from '../tell/reports/subject-pages.ts';
import { readSubjects, toSubjectView } from '../tell/reports/subject-view.ts';
import type { SubjectMatch, SubjectOptions, SubjectQuery } from '../tell/reports/subjects.ts';
import { findSubjects, loadSubjectKinds, selectSubjects } from '../tell/reports/subjects.ts';
import { withPublished } from '../warehouse/session.ts';
import { type DefineCommand, MOMENT, type Texts } from './define.ts';
import { assertTargets, listPlaybooks, readLocalConfig, readShownTime } from './options.ts';
import { resolveOutput } from './output.ts';

export const define: DefineCommand = (command) =>
  command
    .argument('<subject>', 'name or ID, its unique beginning or part, or KIND/NAME such as agent-pool/eu')
    .option('--target <name>', 'target of the subject')
    .option('--as-of <moment>', `time of the data: ${MOMENT}; the last pull by default`)
    .option('--html <file>', 'write the page to a file instead')
    .runs(() => import('./show.ts'), 'show');

/** Prints what the warehouse knows about one subject: as text, with `--json` as an object, with `--html` as the page of the reports. */
export async function show(context: Context, subject: string, flags: Texts<'target' | 'asOf' | 'html'>): Promise<void> {
  const config = readLocalConfig(context);
  await withPublished(config, async ({ database, files }) => {
    const { asOf } = await readShownTime(context, config, { database, files }, flags.asOf);
    const options = { database, files, asOf };
    const { only, data } = await readSubject(config, options, subject, flags.target);
    const guide = await loadGuide(files, await listPlaybooks(config), config.thresholds);
    const view = toSubjectView(data, { linker: createProductLinker(config.targets), selection: only, guide });
    if (context.json) return context.stdout(toJsonText({ ...view, as_of: formatTimestamp(asOf), row: data.present }));
    const renderer = createRenderer(files.roots, [], currentUntil({ ...config, asOf }));
    if (flags.html === undefined) {
      const shown = { subject: view, as_of: formatTimestamp(asOf) };
      return context.stdout(renderer.page('subject.txt.hbs', 'subjects', shown));
    }
    const file = resolveOutput(context, config, flags.html);
    const root = `${relative(dirname(file), config.output).split(sep).map(encodeURIComponent).join('/') || '.'}/`;
    await writeFileAtomic(file, renderSubject(view, asOf, renderer, root));
    context.stdout(`${file}\n`);
  });
}

async function readSubject(config: Config, options: SubjectOptions, subject: string, target: string | undefined) {
  const found = await findSubject(config, options, subject, target);
  const only = await selectSubjects(options, { limit: 0, only: [found] });
  for await (const data of readSubjects(options, only.pages)) return { only, data };
  throw new TidemarkError('USAGE', `unknown subject ${subject}`);
}

/** @throws TidemarkError USAGE with similar names, or with what tells several subjects apart */
async function findSubject(config: Config, options: SubjectOptions, subject: string, target: string | undefined) {
  const query = await parseSubject(options, subject);
  const matches = await findSubjects(options, { ...query, ...(target !== undefined && { target }) });
  if (target !== undefined && matches.length === 0) assertTargets(config, [target]);
  const found = matches.filter(({ isMatch }) => isMatch);
  const [first, second] = found;
  if (first && !second) return first;
  if (first)
    throw new TidemarkError('USAGE', `${found.length} subjects match ${subject}`, {
      hint: `name one of ${listMatches(found, ({ id }) => id)}`,
    });
  throw new TidemarkError('USAGE', `unknown subject ${subject}`, {
    hint:
      matches.length > 0
        ? `the most similar are ${listMatches(matches, ({ id, name }) => name ?? id)}`
        : target === undefined
          ? 'there is no subject in the warehouse'
          : `nothing of ${target} is in the warehouse`,
  });
}

/** `KIND/NAME`, where KIND is the name of a file in `queries/subjects/`; otherwise a name or ID, which may contain a slash. */
async function parseSubject({ files }: SubjectOptions, text: string): Promise<SubjectQuery> {
  const slash = text.indexOf('/');
  const kind = loadSubjectKinds(files).find(({ slug }) => slug === text.slice(0, Math.max(0, slash)));
  return kind ? { type: kind.type, name: text.slice(slash + 1) } : { name: text };
}

const MAX_LISTED = 5;

function listMatches(matches: readonly SubjectMatch[], toName: (match: SubjectMatch) => string): string {
  const shown = matches
    .slice(0, MAX_LISTED)
    .map((match) => `${match.slug}/${toName(match)} (--target ${match.target})`);
  return stripControls(shown.join(', '));
}
