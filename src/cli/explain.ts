import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { stripControls } from '../core/log.ts';
import { quoteWord } from '../core/shell-word.ts';
import { explainFinding, type Guide, loadGuide, nameThresholds, shownSince } from '../tell/findings/guide.ts';
import { readRules } from '../tell/findings/rules.ts';
import { createProductLinker, findingSubject } from '../tell/reports/links.ts';
import { withPublished } from '../warehouse/session.ts';
import type { Row } from '../warehouse/values.ts';
import { listPlaybooks, readLocalConfig } from './options.ts';
import { formatTime, writeResult } from './output.ts';

/** Prints why a finding exists, since when, what it is concluded from, and what ends it. */
export async function explain(context: Context, id: string): Promise<void> {
  const config = readLocalConfig(context);
  await withPublished(config, async ({ database, files }) => {
    const finding = selectFinding(await database.rows(files.read('warehouse/explain_finding'), { id }), id);
    const found = readRules(files).rules.find(({ name }) => name === finding.rule);
    const guides = await loadGuide(files, await listPlaybooks(config), config.thresholds);
    const { sql: _, ...rule } = found ?? { sql: '', description: '' };
    const description = nameThresholds(rule.description, config.thresholds);
    const guide = guides.find((each) => each.rule === finding.rule) ?? null;
    const product = createProductLinker(config.targets)(findingSubject(finding)) ?? null; // its page
    const explanation = { finding, rule: found ? { ...rule, description } : null, guide, product };
    writeResult(context, explanation, () => stripControls(formatExplanation(finding, guide, product)));
  });
}

/** @throws TidemarkError USAGE unless exactly one finding has this ID, or one that begins so */
function selectFinding(found: readonly Row[], id: string): Row {
  const [first, second] = found;
  const selected = found.find(({ finding_id }) => finding_id === id) ?? (second ? undefined : first);
  if (selected) return selected;
  if (!first) throw new TidemarkError('USAGE', `unknown finding ${id}`, { hint: 'see `tidemark findings`' });
  const ids = found.map(({ finding_id }) => String(finding_id)).join(', ');
  throw new TidemarkError('USAGE', `several findings begin with ${id}`, { hint: `such as ${ids}` });
}

function formatExplanation(finding: Row, guide: Guide | null, product: string | null): string {
  const { finding_id, title, severity, target, subject_type, subject_id, subject_name } = finding;
  const name = subject_name ?? subject_id;
  const { meaning, saw, ends } = explainFinding(finding, guide ?? undefined);
  const lines: readonly (readonly [label: string, text: string | null])[] = [
    ['state', `${severity}, ${describeState(finding)}`],
    ['rule', `${finding.rule}: ${meaning}`],
    ['subject', `${subject_type} ${name}${name === subject_id ? '' : ` (${subject_id})`} of ${target}`],
    ['history', ((finding.events ?? []) as readonly Row[]).map(describeEvent).join('\n')],
    ['saw', saw.map((seen) => `${seen.name}: ${formatTime(seen.value)}`).join('\n')],
    ['ends', ends],
    ['repair', guide && (guide.about ?? guide.repair)],
    ['do', guide && `\`${guide.command}\``],
    ['product', product],
    [
      'more',
      `\`tidemark show ${quoteWord(String(subject_id))} --target ${target}\`; the rule is queries/findings/${finding.rule}.sql`,
    ],
  ];
  const shown = lines.flatMap(([label, text]) =>
    text ? [`${label.padEnd(WIDTH)}${text.replaceAll('\n', `\n${' '.repeat(WIDTH)}`)}\n`] : [],
  );
  return `${finding_id}: ${title}\n\n${shown.join('')}`;
}

const WIDTH = 10;

function describeState(finding: Row): string {
  const { state, accepted_until, unassessed_since } = finding;
  const since = `${state} since ${formatTime(shownSince(finding))}`;
  const until = state === 'accepted' ? `, accepted until ${formatTime(accepted_until)}` : '';
  return `${since}${until}${unassessed_since === null ? '' : `; not assessed since ${formatTime(unassessed_since)}`}`;
}

/** Reasons of `finding_events` that pages and mails name otherwise. */
const REASONS: Readonly<Record<string, string>> = { gone: 'resolved', reopened: 'returned' };

function describeEvent({ at, reason, note }: Row): string {
  const what = REASONS[String(reason)] ?? reason;
  return `${formatTime(at)} ${what}${note === null ? '' : `: ${note}`}`;
}
