import type { DiffLine } from '../core/diff.ts';
import { stripControls } from '../core/log.ts';
import { type Difference, describeGaps, describeTimes, formatTotals, tellSubjects } from './diff-text.ts';

/** For a ticket: a heading for each table, and an item for each subject. What a service sends stands in code, where it is no markup. */
export async function* formatMarkdown(difference: Difference): AsyncGenerator<string> {
  yield `## ${describeTimes(difference)}\n\n${formatTotals(difference)}\n`;
  for await (const { table, target, isSame, titles, values } of tellSubjects(difference)) {
    if (!isSame) yield `\n### ${code(table)}, ${code(target)}\n\n`;
    for (const { change, subject, remark } of titles) {
      yield `- **${change}** ${code(subject)}${remark === '' ? '' : ` ${code(remark.replace(/^[ ,]+/u, ''))}`}\n`;
    }
    for (const lines of values) yield formatColumn(lines);
  }
  const gaps = describeGaps(difference).map((gap) => `- ${code(gap)}\n`);
  if (gaps.length > 0) yield `\n### Not known\n\n${gaps.join('')}`;
}

/** One line in the list; several as a block. */
function formatColumn(lines: readonly DiffLine[]): string {
  const [line] = lines;
  if (line && lines.length === 1) return `  - ${code(line.text)}\n`;
  const texts = lines.map(({ sign, text }) => `${sign} ${stripControls(text)}`);
  const fence = fenceFor(texts.join('\n'), 3);
  return ['', `${fence}diff`, ...texts, fence, ''].map((text) => (text === '' ? '\n' : `  ${text}\n`)).join('');
}

function code(text: string): string {
  const plain = stripControls(text.replaceAll(/\s+/gu, ' '));
  const fence = fenceFor(plain, 1);
  return fence === '`' ? `\`${plain}\`` : `${fence} ${plain} ${fence}`;
}

/** More backticks than the text has in a row. */
function fenceFor(text: string, least: number): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/gu)].map(([run]) => run.length));
  return '`'.repeat(Math.max(least, longest + 1));
}
