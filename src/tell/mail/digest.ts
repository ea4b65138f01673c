import type { Config } from '../../config/config.ts';
import { sanitizeHeader } from '../../config/mail.ts';
import { HOUR_MS } from '../../core/clock.ts';
import { formatNumber, formatTime } from '../reports/format.ts';
import { createProductLinker, type ProductLinker } from '../reports/links.ts';
import { runPath } from '../reports/run-page.ts';
import type { SubjectLinker } from '../reports/subjects.ts';
import { createTemplateEngine, readTemplate } from '../reports/templates.ts';
import { type DigestData, formatChange, MAX_ATTACHED, type Metric } from './digest-data.ts';
import {
  buildSourceStatus,
  buildSparkline,
  buildUnassessedStatus,
  type ChangedTable,
  type Deadlines,
  formatSubject,
  isEmptyRoute,
  listChanges,
  listDeadlines,
  type SourceStatus,
  type Sparkline,
  subjectHeadline,
  subjectScope,
  type UnassessedStatus,
} from './digest-sections.ts';
import { type AgedFinding, buildFindingList, type FindingList, listOldest } from './finding-lists.ts';
import { type Audience, formatRoute } from './recipients.ts';

/** The context of `reports/digest.hbs` and `reports/digest.txt.hbs`; its texts are clean and short, but not escaped. */
export interface Digest {
  readonly subject: string;
  readonly scope: string;
  readonly headline: string;
  readonly job: string;
  readonly as_of: string;
  /** Until when it is current. */
  readonly until: string;
  /** Time of the previous digest; null for the first one. */
  readonly since: string | null;
  readonly metrics: readonly MetricView[];
  readonly sparklines: readonly Sparkline[];
  /** New and open critical findings; the lists of new and open findings have the others. */
  readonly criticalFindings: FindingList;
  readonly newFindings: FindingList;
  readonly resolvedFindings: FindingList;
  /** Findings that ended with their subject. */
  readonly deletedFindings: FindingList;
  readonly openFindings: FindingList;
  readonly oldest: readonly AgedFinding[];
  readonly sources: SourceStatus;
  readonly unassessed: UnassessedStatus;
  readonly changes: readonly ChangedTable[];
  readonly deadlines: Deadlines;
  readonly links: readonly { readonly title: string; readonly href: string }[];
  /** Reports whose pages are attached. */
  readonly pages: readonly string[];
  readonly notes: readonly string[];
  /** Name of the attached CSV with every finding; null where the lists name them all. */
  readonly csv: string | null;
  /** Rows of that CSV where it is cut; otherwise null. */
  readonly csvRows: number | null;
  /** The routes in words; null for the unfiltered digest. */
  readonly route: string | null;
  readonly isEmptyRoute: boolean;
  readonly reason: string;
}

interface MetricView {
  readonly label: string;
  readonly value: string;
  readonly change: string;
  readonly isWorse: boolean;
  readonly isBetter: boolean;
  readonly href: string | null;
}

export interface DigestOptions {
  readonly config: Pick<Config, 'targets' | 'reportsUrl' | 'thresholds'>;
  readonly job: { readonly name: string; readonly reports: readonly string[] };
  /** The run whose page is linked. */
  readonly runId: string;
  readonly asOf: Date;
  /** Further lines, such as what a playbook plans. */
  readonly notes: readonly string[];
  /** Lines of each list. */
  readonly maxLines: number;
  /** Path of a subject's page below the folder of the reports. */
  readonly linkSubject: SubjectLinker | undefined;
}

export const CSV_NAME = 'findings.csv';
const MAX_RESOLVED = 10;
/** From this interval between digests on, the digest lists the oldest findings. */
const LONG_INTERVAL_MS = 48 * HOUR_MS;

export function buildDigest(options: DigestOptions, audience: Audience, data: DigestData): Digest {
  const { config, job, asOf, maxLines } = options;
  const links = { product: createProductLinker(config.targets), history: toHistoryLinker(options) };
  const lists = {
    criticalFindings: buildFindingList(data, 'critical', { maxLines, links }),
    newFindings: buildFindingList(data, 'new', { maxLines, links }),
    resolvedFindings: buildFindingList(data, 'resolved', { maxLines: Math.min(maxLines, MAX_RESOLVED), links }),
    deletedFindings: buildFindingList(data, 'deleted', { maxLines: Math.min(maxLines, MAX_RESOLVED), links }),
    openFindings: buildFindingList(data, 'open', { maxLines, links }),
  };
  const namesAll = Object.values(lists).every(({ isComplete }) => isComplete);
  const isLongInterval = data.since !== null && asOf.getTime() - Date.parse(data.since) > LONG_INTERVAL_MS;
  return {
    ...lists,
    subject: formatSubject(config, audience, data),
    scope: subjectScope(config, audience, data),
    headline: subjectHeadline(audience, data),
    job: job.name,
    as_of: formatTime(asOf.toISOString()),
    until: formatTime(new Date(asOf.getTime() + config.thresholds.staleHours * HOUR_MS).toISOString()),
    since: data.since === null ? null : formatTime(data.since),
    metrics: data.metrics.map((metric) => toMetricView(metric, options)),
    sparklines: data.metrics.flatMap((metric) => buildSparkline(metric, data.trend)),
    oldest: isLongInterval ? listOldest(data, asOf, maxLines) : [],
    sources: buildSourceStatus(data.sources, asOf, maxLines),
    unassessed: buildUnassessedStatus(data.unassessed, maxLines),
    changes: listChanges(data),
    deadlines: listDeadlines(data),
    links: listLinks(options),
    pages: config.reportsUrl === undefined && audience.isUnfiltered ? job.reports : [],
    notes: options.notes.map((note) => sanitizeHeader(note, 300)),
    csv: namesAll ? null : CSV_NAME,
    csvRows: data.attached.length === MAX_ATTACHED ? MAX_ATTACHED : null,
    route: audience.isUnfiltered ? null : audience.routes.map(formatRoute).join('; '),
    isEmptyRoute: isEmptyRoute(audience, data),
    reason: audience.reason,
  };
}

/** The pages of subjects where the reports are served. A note about a part of a workspace has an ID that only its name leads from. */
function toHistoryLinker({ config: { reportsUrl }, linkSubject }: DigestOptions): ProductLinker {
  if (reportsUrl === undefined || !linkSubject) return () => undefined;
  return (subject) => {
    const name = subject.name ?? subject.id;
    const path = linkSubject({ ...subject, name }) ?? linkSubject({ ...subject, id: name, name });
    return path && joinUrl(reportsUrl, path);
  };
}

function toMetricView(metric: Metric, { config, job }: DigestOptions): MetricView {
  const { label, value, before, report } = metric;
  const rise = value - (before ?? value);
  const isLinked = config.reportsUrl !== undefined && job.reports.includes(report);
  return {
    label,
    value: formatNumber(value),
    change: formatChange(metric),
    isWorse: rise > 0,
    isBetter: rise < 0,
    href: isLinked ? pageUrl(config.reportsUrl, report) : null,
  };
}

function listLinks({ config: { reportsUrl }, job: { reports }, runId }: DigestOptions): Digest['links'] {
  if (reportsUrl === undefined) return [];
  // Reports are what a run writes its page with.
  const run = reports.length > 0 ? [{ title: 'This run', href: joinUrl(reportsUrl, runPath(runId)) }] : [];
  const pages = ['index', ...reports].map((name) => ({
    title: name === 'index' ? 'All reports' : name,
    href: pageUrl(reportsUrl, name),
  }));
  return [...run, ...pages];
}

function pageUrl(base = '', name: string): string {
  return joinUrl(base, `${encodeURIComponent(name)}.html`);
}

function joinUrl(base: string, path: string): string {
  return `${base.replace(/\/+$/u, '')}/${path}`;
}

/** Renders the two parts of a digest, from `reports/digest.hbs` and `reports/digest.txt.hbs`. */
export interface DigestRenderer {
  html(digest: Digest): string;
  text(digest: Digest): string;
}

export async function createDigestRenderer(roots: readonly string[]): Promise<DigestRenderer> {
  const [html, text, htmlSource, textSource] = await Promise.all([
    createTemplateEngine(roots, 'html'),
    createTemplateEngine(roots, 'text'),
    readTemplate(roots, 'digest.hbs'),
    readTemplate(roots, 'digest.txt.hbs'),
  ]);
  return {
    html: (digest) => html.render('reports/digest.hbs', htmlSource, digest),
    text: (digest) => `${text.render('reports/digest.txt.hbs', textSource, digest).trim()}\n`,
  };
}
