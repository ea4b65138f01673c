import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';

const page = readFileSync(join(PACKAGE_ROOT, 'docs/services/coverage.md'), 'utf8');
const rows = page
  .split('\n')
  .filter((line) => /^\| [ABC]\d/u.test(line))
  .map((line) => {
    const [lines = '', statement = '', proof = ''] = line
      .split(' | ')
      .map((cell) => cell.replaceAll(/^\| | \|$/gu, ''));
    return { lines, statement, proof };
  });

describe('the walk through the documents', () => {
  test.each(rows)('$lines: $statement', ({ proof }) => {
    const files = [...proof.matchAll(/`(test\/[\w/.-]+)`/gu)].map(([, file = '']) => file);
    for (const file of files) expect(existsSync(join(PACKAGE_ROOT, file)), file).toBe(true);
    expect(files.length > 0 || /^no test: \w+ \w+/u.test(proof), proof).toBe(true);
  });

  test('each row refers to a line of a document', () => {
    const last: Readonly<Record<string, number>> = { A: 284, B: 164, C: 184 };
    for (const { lines } of rows) {
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
    const groups = parse(readFileSync(join(import.meta.dirname, 'fields.yaml'), 'utf8')) as readonly {
      readonly document: string;
      readonly line: number;
    }[];
    const missing = groups
      .map(({ document, line }) => ({ letter: letters[document] ?? '?', line }))
      .filter(({ letter, line }) => !rows.some(({ lines }) => coversLine(lines, letter, line)))
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
