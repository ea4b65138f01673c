import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';

interface Statement {
  /** Lines of a document: `A5, A17–A31`. */
  readonly lines: string;
  readonly statement: string;
  readonly tests?: readonly string[];
  /** Why there is no test. */
  readonly reason?: string;
}

const read = <T>(name: string) => parse(readFileSync(join(import.meta.dirname, name), 'utf8')) as readonly T[];
const statements = read<Statement>('coverage.yaml');

describe('the walk through the documents', () => {
  test.each(statements)('$lines: $statement', ({ tests = [], reason }) => {
    expect(tests.filter((file) => !existsSync(join(PACKAGE_ROOT, file)))).toEqual([]);
    expect(tests.length > 0 || /^\w+ \w+/u.test(reason ?? '')).toBe(true);
  });

  test('each row refers to a line of a document', () => {
    const last: Readonly<Record<string, number>> = { A: 284, B: 164, C: 184 };
    for (const { lines } of statements) {
      for (const [, document = '', line] of lines.matchAll(/([ABC])(\d+)/gu)) {
        expect(Number(line), lines).toBeLessThanOrEqual(last[document] ?? 0);
      }
    }
  });

  test('the lines of fields.yaml are in it', () => {
    const letters: Readonly<Record<string, string>> = {
      'platform.md': 'A',
      'secrets.md': 'B',
      'scheduler-autoscaler-mesh.md': 'C',
    };
    const missing = read<{ readonly document: string; readonly line: number }>('fields.yaml')
      .map(({ document, line }) => ({ letter: letters[document] ?? '?', line }))
      .filter(({ letter, line }) => !statements.some(({ lines }) => coversLine(lines, letter, line)))
      .map(({ letter, line }) => `${letter}${line}`);
    expect([...new Set(missing)]).toEqual([]);
  });
});

/** Whether `A5, A17–A31` contains a line. */
function coversLine(lines: string, letter: string, line: number): boolean {
  return lines.split(', ').some((part) => {
    const [first = '', end = first] = part.split('–');
    if (!first.startsWith(letter)) return false;
    return Number(first.slice(1)) <= line && line <= Number(end.slice(1));
  });
}
