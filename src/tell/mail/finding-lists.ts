import { sanitizeHeader } from '../../config/mail.ts';
import type { Row } from '../../warehouse/values.ts';
import { type Guide, tellMany } from '../findings/guide.ts';
import { formatAge, formatNumber } from '../reports/format.ts';
import type { ProductLinker } from '../reports/links.ts';
import type { DigestData } from './digest-data.ts';

/** One finding, several of one subject, or several with the same cause. */
export interface FindingLine {
  /** `resolved` or `deleted` for what is no longer a finding, whatever its severity was. */
  readonly badge: string;
  readonly title: string;
  /** The page that the product has for the subject, or that of the reports; null for several subjects, and where there is none. */
  readonly href: string | null;
  /** The subject's page of the reports with its history, where `href` is another. */
  readonly history: string | null;
  /** The first subjects of a cause, in place of a link of the title. */
  readonly subjects: readonly LinkedSubject[];
  /** Whether there are more subjects than these. */
  readonly hasMore: boolean;
  readonly location: string;
  readonly since: string;
  /** A new subject, new findings among others, reopenings and missing assessments, each preceded by a comma. */
  readonly notes: string;
  /** The next step: what to do, and the command; empty for what is over. */
  readonly step: string;
  readonly command: string;
}

interface LinkedSubject {
  readonly name: string;
  readonly href: string | null;
  readonly history: string | null;
}

/** Where the subjects of a digest have pages. */
export interface DigestLinks {
  readonly product: ProductLinker;
  /** The page of a subject in the reports; undefined where the reports are not served, or have none. */
  readonly history: ProductLinker;
}

export interface FindingList {
  readonly lines: readonly FindingLine[];
  /** `5`, or `1,312 (20 of 45 lines)` where the list is cut. */
  readonly count: string;
  readonly total: number;
  readonly isCut: boolean;
  /** Whether the list names every finding. */
  readonly isComplete: boolean;
}

/** `critical` has the critical findings, new and open; `new` and `open` have the others. */
export type Section = 'critical' | 'new' | 'resolved' | 'deleted' | 'open';

const MAX_TITLE_LENGTH = 160;
const MAX_GROUP_NAMES = 3;
const MAX_LINE_RULES = 4;
/** Mail readers break longer links, and they would push lines out of the digest. */
const MAX_LINK_LENGTH = 500;

export function buildFindingList(
  data: DigestData,
  section: Section,
  { maxLines, links }: { readonly maxLines: number; readonly links: DigestLinks },
): FindingList {
  const rows = data.causes.filter((row) => row.section === section);
  const lines = Number(rows[0]?.lines ?? 0);
  const total = Number(rows[0]?.findings ?? 0);
  const shown = rows.slice(0, maxLines);
  const isCut = lines > shown.length;
  return {
    lines: shown.map((row) => toFindingLine(row, links, data.guide)),
    count: isCut ? `${formatNumber(total)} (${shown.length} of ${formatNumber(lines)} lines)` : formatNumber(total),
    total,
    isCut,
    isComplete: !isCut && rows.every(({ size, is_cause }) => Number(size) <= (is_cause ? MAX_GROUP_NAMES : 1)),
  };
}

function toFindingLine(row: Row, links: DigestLinks, guide: readonly Guide[]): FindingLine {
  const { section, severity, is_cause, size } = row;
  const opened = `since ${String(row.opened_at).slice(0, 10)}`;
  const subjects = linkSubjects(row, links);
  const isOver = section === 'resolved' || section === 'deleted';
  const known = guide.find(({ rule }) => rule === row.rule);
  return {
    badge: isOver ? String(section) : String(severity),
    title: is_cause ? causeTitle(row, known) : subjectTitle(row),
    href: is_cause ? null : (subjects[0]?.href ?? null),
    history: is_cause ? null : (subjects[0]?.history ?? null),
    subjects: is_cause ? subjects : [],
    hasMore: Number(size) > subjects.length,
    location: sanitizeHeader(`${row.target}: ${formatRules(row)}`, MAX_TITLE_LENGTH),
    since: isOver ? `was ${severity}, open ${opened}` : `${isNewCritical(row) ? 'new, ' : ''}${opened}`,
    notes: lineNotes(row),
    step: isOver ? '' : (known?.about ?? known?.repair ?? ''),
    command: isOver ? '' : (known?.command ?? ''),
  };
}

function linkSubjects(
  { target, subject_type, subjects }: Row,
  { product, history }: DigestLinks,
): readonly LinkedSubject[] {
  return (subjects as readonly Row[]).map(({ subject_id, subject_name, detail }) => {
    const name = subject_name === null || subject_name === undefined ? null : String(subject_name);
    const fields = (detail ?? {}) as Row;
    const subject = { target: String(target), type: String(subject_type), id: String(subject_id), name, fields };
    const [href, page] = [shortLink(product(subject)), shortLink(history(subject))];
    return {
      name: sanitizeHeader(name ?? subject.id, 40),
      href: href ?? page,
      history: href === null ? null : page,
    };
  });
}

function shortLink(url: string | undefined): string | null {
  return url !== undefined && url.length <= MAX_LINK_LENGTH ? url : null;
}

function isNewCritical({ section, size, new_findings }: Row): boolean {
  return section === 'critical' && Number(new_findings) === Number(size);
}

function lineNotes(row: Row): string {
  const [fresh, reopened] = [Number(row.new_findings), Number(row.times_reopened)];
  return [
    row.is_new_subject ? `, new ${row.subject_type}` : '',
    row.section === 'critical' && fresh > 0 && !isNewCritical(row) ? `, ${formatNumber(fresh)} new` : '',
    reopened > 0 ? `, reopened ${reopened === 1 ? 'once' : `${formatNumber(reopened)} times`}` : '',
    Number(row.unassessed) > 0 ? ', not assessed by the last pull' : '',
  ].join('');
}

/** `3 volumes of plugin ebs have had no snapshot for 7 days` */
function causeTitle({ group_key, subject_type, size, section }: Row, guide: Guide | undefined): string {
  const cause = sanitizeHeader(String(group_key ?? ''), 60);
  const count = formatNumber(Number(size));
  if (section === 'resolved' || section === 'deleted' || !guide) {
    return `${count} ${subject_type}s${cause && ` of ${cause}`}`;
  }
  return tellMany(count, cause, guide);
}

/** The title of the worst finding of a subject, and how many more there are. */
function subjectTitle({ title, size }: Row): string {
  const more = Number(size) - 1;
  const suffix = more === 0 ? '' : `, and ${formatNumber(more)} more ${more === 1 ? 'finding' : 'findings'}`;
  return `${sanitizeHeader(String(title), MAX_TITLE_LENGTH - suffix.length)}${suffix}`;
}

function formatRules({ rules }: Row): string {
  const names = rules as readonly string[];
  const more = names.length - MAX_LINE_RULES;
  return `${names.slice(0, MAX_LINE_RULES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function findingLocation({ target, rule }: Row): string {
  return sanitizeHeader(`${target}: ${rule}`, MAX_TITLE_LENGTH);
}

/** A finding with the time for which it has been open. */
export interface AgedFinding {
  readonly age: string;
  readonly severity: string;
  readonly title: string;
  readonly location: string;
}

export function listOldest(data: DigestData, asOf: Date, maxLines: number): readonly AgedFinding[] {
  return data.oldest.slice(0, maxLines).map((row) => ({
    age: formatAge(asOf.getTime() - Date.parse(String(row.opened_at))),
    severity: String(row.severity),
    title: sanitizeHeader(String(row.title), MAX_TITLE_LENGTH),
    location: findingLocation(row),
  }));
}
