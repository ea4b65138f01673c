import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { arch, cpus, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import { PACKAGE_ROOT, version } from '../src/core/paths.ts';
import { isMet, type Result } from './result.ts';

const FILE = join(PACKAGE_ROOT, 'docs', 'benchmarks.md');

/** What a part measured, and how busy the machine was. */
export interface Measured {
  readonly name: string;
  readonly about: string;
  readonly results: readonly Result[];
  /** Why there are no results. */
  readonly skipped?: string;
  /** Processes that ran or waited to run, over the minute before the part: `os.loadavg()`. */
  readonly loadBefore: number;
  readonly at: Date;
}

/** Writes docs/benchmarks.md. */
export async function writeDocument(measured: readonly Measured[], order: readonly string[]): Promise<void> {
  const before = await readFile(FILE, 'utf8').catch(() => '');
  await writeFile(FILE, updateDocument(before, measured, order));
}

/** The document with the rows of the parts that were measured. Those of other parts stay as they are. */
export function updateDocument(before: string, measured: readonly Measured[], order: readonly string[]): string {
  const known = parseSections(before);
  for (const each of measured) known.set(each.name, formatSection(each));
  const sections = order.flatMap((name) => known.get(name) ?? []);
  return `${HEAD}${sections.join('')}\n${formatMachine()}`;
}

const HEAD = `# Benchmarks

\`npm run bench\` writes this table ([bench/README.md](../bench/README.md)). The ratios matter, not the times: both sides of a ratio run on one machine,
alternately. A value is the median of several rounds, a ratio that of their ratios, with the lowest and the highest. \`npm run bench -- PART\` prints more. Load is that of the machine in the minute before the part.

| What | Measured | Reference | Ratio | Aim |
|---|---|---|---|---|
`;

/** The rows of each part, by its name. */
function parseSections(text: string): Map<string, string> {
  const [table = ''] = text.split('\nMachine ');
  const sections = table.split(SECTION).slice(1);
  return new Map(sections.map((section) => [/^\| \*\*(\w+)/u.exec(section)?.[1] ?? '', section]));
}

const SECTION = /^(?=\| \*\*\w+\*\*: )/mu;

function formatSection({ name, about, results, skipped, loadBefore, at }: Measured): string {
  const when = `${at.toISOString().slice(0, 10)}, load ${loadBefore.toFixed(2)}`;
  return `| **${name}**: ${about} | ${skipped === undefined ? when : `not measured: ${skipped}`} | | | |\n${results
    .filter(({ isDetail }) => !isDetail)
    .map(formatRow)
    .join('')}`;
}

function formatRow(result: Result): string {
  const { what, measured, against, ratio, range, aim } = result;
  const shownRange = range ? ` (${range[0].toFixed(2)}–${range[1].toFixed(2)})` : '';
  const verdict = aim === undefined ? '' : `≤ ${aim}, ${isMet(result) ? 'met' : '**missed**'}`;
  return `| ${[what, measured, against, `${ratio.toFixed(2)}${shownRange}`, verdict].join(' | ')} |\n`;
}

function formatMachine(): string {
  return `Machine of the newest rows: ${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${Math.round(totalmem() / 1024 ** 3)} GiB, ${platform()} ${arch()}.
Versions: tidemark ${version}, Node ${process.versions.node}, @duckdb/node-api ${installed('@duckdb/node-api')}.
`;
}

function installed(name: string): string {
  const file = join(PACKAGE_ROOT, 'node_modules', name, 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
