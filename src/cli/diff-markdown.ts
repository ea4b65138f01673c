import { stripControls } from '../core/log.ts';
import {
  type ChangeRow,
  type Difference,
  describeActor,
  describeGaps,
  describeMove,
  describeSubject,
  describeTimes,
  describeWhole,
  diffColumn,
  formatTotals,
  groupSubjects,
  type SubjectChange,
} from './diff-text.ts';

/** For a ticket: a heading for each table, and an item for each subject. What a service sends stands in code, where it is no markup. */
export async function* formatMarkdown(difference: Difference): AsyncGenerator<string> {
  let heading = '';
  yield `## ${describeTimes(difference)}\n\n${formatTotals(difference)}\n`;
  for await (const subject of groupSubjects(difference)) {
    const [{ table, target }] = subject.rows;
    const next = `### ${code(table)}, ${code(target)}\n\n`;
    yield `${next === heading ? '' : `\n${next}`}${formatSubject(subject)}`;
    heading = next;
  }
  const gaps = describeGaps(difference).map((gap) => `- ${code(gap)}\n`);
  if (gaps.length > 0) yield `\n### Not known\n\n${gaps.join('')}`;
}

function formatSubject({ table, rows }: SubjectChange): string {
  const whole = rows.filter(({ column }) => column === null);
  const columns = rows.filter(({ column }) => column !== null);
  const [changed] = columns;
  return [
    ...whole.map((row) => item(row.change, row, `${describeWhole(row)}${describeActor([row])}`)),
    ...(changed ? [item('changed', changed, `${describeMove(columns)}${describeActor(columns)}`)] : []),
    ...columns.map((row) => formatColumn(diffColumn(row, table))),
  ].join('');
}

function item(change: string, row: ChangeRow, remark: string): string {
  return `- **${change}** ${code(describeSubject(row))}${remark === '' ? '' : ` ${code(remark.replace(/^[ ,]+/u, ''))}`}\n`;
}

/** One line in the list; several as a block. */
function formatColumn(lines: ReturnType<typeof diffColumn>): string {
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
