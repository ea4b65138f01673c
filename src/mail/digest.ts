import type { Config } from '../core/config.ts';
import { headerText } from '../core/mail-address.ts';
import { formatNumber, formatTime } from '../render/format.ts';
import { type Audience, wordsOf } from './audience.ts';
import { type Bars, barsOf } from './bars.ts';
import { type List, listOf, type OldLine, oldestOf } from './lists.ts';
import { changeOf, type NumberRow } from './numbers.ts';
import { type DigestData, MOST_ATTACHED } from './read.ts';
import { type SourcesView, sourcesView } from './sources.ts';
import { answerOf, matchesNothing, subjectOf, whoseOf } from './subject.ts';

/** Everything that `reports/digest.hbs` and `reports/digest.txt.hbs` show; texts are clean and short, not yet escaped. */
export interface Digest {
  readonly subject: string;
  readonly whose: string;
  readonly answer: string;
  readonly job: string;
  readonly as_of: string;
  /** Null in the first digest: there is nothing to compare with. */
  readonly since: string | null;
  readonly numbers: readonly NumberView[];
  readonly bars: readonly Bars[];
  readonly fresh: List;
  readonly resolved: List;
  readonly open: List;
  readonly oldest: readonly OldLine[];
  readonly sources: SourcesView;
  readonly links: readonly { readonly title: string; readonly href: string }[];
  /** Reports whose pages are attached. */
  readonly pages: readonly string[];
  readonly notes: readonly string[];
  /** File with every finding, where the lists do not name them all. */
  readonly csv: string | null;
  /** Rows of that file where it is cut, too; else null. */
  readonly csvRows: number | null;
  /** The part that it tells of, in words; null for everything. */
  readonly part: string | null;
  readonly unknownPart: boolean;
  readonly reason: string;
}

interface NumberView {
  readonly label: string;
  readonly value: string;
  readonly change: string;
  readonly worse: boolean;
  readonly better: boolean;
  readonly href: string | null;
}

export interface DigestOptions {
  readonly config: Pick<Config, 'targets' | 'reportsUrl'>;
  readonly job: { readonly name: string; readonly reports: readonly string[] };
  readonly asOf: Date;
  /** Lines that others want said, such as what a playbook did. */
  readonly notes: readonly string[];
  /** Lines a list may have. */
  readonly mostLines: number;
}

export const CSV_NAME = 'findings.csv';
/** What is over needs no reader's time. */
const MOST_RESOLVED = 10;
const LONG_PERIOD_MS = 48 * 60 * 60_000;

export function digestOf(options: DigestOptions, audience: Audience, data: DigestData): Digest {
  const { config, job, asOf, mostLines } = options;
  const fewer = Math.min(mostLines, MOST_RESOLVED);
  const lists = { fresh: listOf(data, 'new', mostLines), resolved: listOf(data, 'resolved', fewer) };
  const open = listOf(data, 'open', mostLines);
  const unnamed = [lists.fresh, lists.resolved, open].some(({ whole }) => !whole);
  const longPeriod = data.since !== null && asOf.getTime() - Date.parse(data.since) > LONG_PERIOD_MS;
  return {
    ...lists,
    open,
    subject: subjectOf(config, audience, data),
    whose: whoseOf(config, audience, data),
    answer: answerOf(audience, data),
    job: job.name,
    as_of: formatTime(asOf.toISOString()),
    since: data.since === null ? null : formatTime(data.since),
    numbers: data.numbers.map((number) => numberView(number, options)),
    bars: data.numbers.flatMap((number) => barsOf(number, data.nights)),
    oldest: longPeriod ? oldestOf(data, asOf, mostLines) : [],
    sources: sourcesView(data.sources, asOf, mostLines),
    links: linksOf(config, job.reports),
    pages: config.reportsUrl === undefined && audience.whole ? job.reports : [],
    notes: options.notes.map((note) => headerText(note, 300)),
    csv: unnamed ? CSV_NAME : null,
    csvRows: data.attached.length === MOST_ATTACHED ? MOST_ATTACHED : null,
    part: audience.whole ? null : audience.routes.map(wordsOf).join('; '),
    unknownPart: matchesNothing(audience, data),
    reason: audience.reason,
  };
}

function numberView(number: NumberRow, { config, job }: DigestOptions): NumberView {
  const { label, value, before, appeared, gone, report } = number;
  const rise = appeared !== null && gone !== null ? appeared - gone : value - (before ?? value);
  const linked = config.reportsUrl !== undefined && job.reports.includes(report);
  return {
    label,
    value: formatNumber(value),
    change: changeOf(number),
    worse: rise > 0,
    better: rise < 0,
    href: linked ? pageUrl(config.reportsUrl, report) : null,
  };
}

function linksOf({ reportsUrl }: DigestOptions['config'], reports: readonly string[]): Digest['links'] {
  if (reportsUrl === undefined) return [];
  return ['index', ...reports].map((name) => ({
    title: name === 'index' ? 'All reports' : name,
    href: pageUrl(reportsUrl, name),
  }));
}

function pageUrl(base = '', name: string): string {
  return `${base.replace(/\/+$/u, '')}/${encodeURIComponent(name)}.html`;
}
