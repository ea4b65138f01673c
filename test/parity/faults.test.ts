import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';

interface Fault {
  readonly fault: string;
  readonly file: string;
  readonly text: string;
  readonly tests: readonly string[];
}

const read = (path: string) => readFileSync(join(PACKAGE_ROOT, path), 'utf8');

test.each(parse(read('test/faults.yaml')) as readonly Fault[])(
  'the text of the fault "$fault" stands once in $file, and its tests exist',
  ({ file, text, tests }) => {
    expect(read(file).split(text)).toHaveLength(2);
    expect(tests.filter((path) => !existsSync(join(PACKAGE_ROOT, path)))).toEqual([]);
  },
);
