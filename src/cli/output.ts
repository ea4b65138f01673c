import type { Colors } from '../core/color.ts';
import type { Context } from '../core/context.ts';
import { stripControls } from '../core/log.ts';
import { tableLines } from '../core/text-table.ts';

/** Writes a result to stdout: the value with `--json`, otherwise the text. */
export function writeResult({ json, stdout }: Context, value: unknown, text: () => string): void {
  stdout(json ? `${JSON.stringify(value, null, 2)}\n` : text());
}

export interface TableOptions {
  readonly colors: Colors;
  /** Columns whose cells begin with a status, a state or a severity. */
  readonly statusColumns?: readonly string[];
}

/** Aligned columns under labels in capitals, as `gh` prints them; ends with a line break. */
export function formatTable(
  labels: readonly string[],
  rows: readonly (readonly unknown[])[],
  { colors, statusColumns = [] }: TableOptions,
): string {
  const isStatus = labels.map((label) => statusColumns.includes(label));
  const columns = labels.map((label) => ({ label: colors.dim(label.toUpperCase()) }));
  const cells = rows.map((row) =>
    row.map((value, index) => (isStatus[index] ? colorStatus(colors, formatCell(value)) : formatCell(value))),
  );
  return [...tableLines(columns, cells), ''].join('\n');
}

/** The last lines of a command that leads to others. */
export function formatNextSteps(steps: readonly string[], colors: Colors): string {
  const lines = steps.map((step, index) => `  ${index + 1}. ${stripControls(step)}\n`);
  return `${colors.bold('Next:')}\n${lines.join('')}`;
}

const STATUS_COLORS: Readonly<Record<string, 'green' | 'yellow' | 'red'>> = {
  ok: 'green',
  complete: 'green',
  applied: 'green',
  resolved: 'green',
  new: 'yellow',
  warning: 'yellow',
  incomplete: 'yellow',
  partial: 'yellow',
  quarantined: 'yellow',
  unconfirmed: 'yellow',
  critical: 'red',
  failed: 'red',
  FAIL: 'red',
};

function colorStatus(colors: Colors, text: string): string {
  const color = STATUS_COLORS[/^\w+/u.exec(text)?.[0] ?? ''];
  return color ? colors[color](text) : text;
}

/** One line without control characters. */
function formatCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return stripControls(text.replaceAll(/\s+/gu, ' '));
}

/** Every line of a JSON text two spaces further in. */
export function indent(json: string): string {
  return json.replaceAll(/^/gmu, '  ');
}
