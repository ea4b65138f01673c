import type { Thresholds } from '../../config/config.ts';
import { printJson } from '../../core/json.ts';
import type { SqlFiles } from '../../warehouse/sql-files.ts';
import type { Row, Value } from '../../warehouse/values.ts';
import { type Rule, readRules } from './rules.ts';

/** A playbook, as reports show it. */
export type PlaybookSummary = Readonly<Record<'playbook' | 'rule' | 'about', string>>;

/** How a rule is told, and what to do about its findings: the same on pages, in mails and in a terminal. */
export type Guide = Readonly<Awaited<ReturnType<typeof loadGuide>>[number]>;

/** The guide of every rule, with the real numbers of the thresholds. A rule of a user may say nothing of itself. */
export async function loadGuide(files: SqlFiles, playbooks: readonly PlaybookSummary[], thresholds: Thresholds) {
  const { rules } = readRules(files);
  return rules.map((rule) => {
    const { name, many, repair, isRepairedByHand } = rule;
    const playbook = isRepairedByHand ? undefined : playbooks.find((each) => each.rule === name);
    return {
      rule: name,
      meaning: nameThresholds(rule.description, thresholds),
      /** After what its findings are resolved. */
      ends: describeEnd(rule),
      /** What several of its findings say, after their number: `volumes{of} have no snapshot`, where `{of}` is their common cause. */
      many: nameThresholds(many ?? `findings of ${name}`, thresholds),
      repair: nameThresholds(repair ?? 'look at each of them, and ask its owner', thresholds),
      /** The command that plans the repair, or else the one that lists the findings. */
      command: playbook ? `tidemark playbook plan ${playbook.playbook}` : `tidemark findings --rule ${name}`,
      /** What the playbook of the command does; null without one. */
      about: playbook ? nameThresholds(playbook.about, thresholds) : null,
    };
  });
}

function describeEnd({ sources, proves }: Rule): string {
  const pulled = sources.length === 0 ? 'run' : `complete pull of ${sources.join(', ')}`;
  const proof = proves.length === 0 ? '' : `, with every row of ${proves.join(', ')} listed`;
  return `the next ${pulled}${proof}, after which the rule does not find it; a failed or partial pull ends nothing`;
}

/** `3 volumes of plugin ebs have had no snapshot for 7 days` */
export function tellMany(count: string, cause: string, { many }: Pick<Guide, 'many'>): string {
  const told = many.replace('{of}', () => cause && ` of ${cause}`); // as it is: `replace` would read `$&` in a name
  return `${count} ${told}${many.includes('{of}') || cause === '' ? '' : `: ${cause}`}`;
}

/** `keyRotationDays` between backticks → `90 days`; other words lose their backticks, because a cell has no markup. */
export function nameThresholds(text: string, thresholds: Thresholds): string {
  return text.replaceAll(/`(\w+)`/gu, (_, name: string) => {
    const value = thresholds[name as keyof Thresholds];
    const unit = /(?:Days|Hours|Minutes)$/u.exec(name)?.[0].toLowerCase();
    if (value === undefined) return name;
    return unit === undefined ? String(value) : `${value} ${value === 1 ? unit.slice(0, -1) : unit}`;
  });
}

/**
 * Why a finding exists, the values that its rule read, and what ends it: the same in a terminal and on the page of its subject.
 * @param guide undefined where the rule is not there any more
 */
export function explainFinding({ state, detail }: Row, guide: Guide | undefined) {
  const ends = guide?.ends ?? 'nothing evaluates it any more';
  const saw = Object.entries((detail ?? {}) as Readonly<Record<string, Value>>);
  return {
    meaning: guide?.meaning ?? 'this rule is not there any more',
    saw: saw.map(([name, value]) => ({ name, value: typeof value === 'string' ? value : toLine(value) })),
    ends: state === 'resolved' ? 'it is resolved' : ends,
  };
}

/** Since when a finding has the state that is shown. An open one was found before it is no longer new. */
export function shownSince({ state, opened_at = null, state_since = null }: Row): string {
  const since = state === 'new' || state === 'open' ? opened_at : state_since;
  return String(since ?? opened_at);
}

const toLine = (value: Value) => printJson(value).replaceAll(/\s+/gu, ' ');
