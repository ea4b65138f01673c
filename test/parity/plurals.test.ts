import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cronError } from '../../src/config/job.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';

const SRC = join(PACKAGE_ROOT, 'src');

/** Counts that are more than one wherever the text is used. */
const SEVERAL = [
  /names\.length\} (?:targets|sources)/u,
  /projects\.length\} projects/u,
  /manifests\.size\} sources/u,
  /findings\.length\} findings/u,
  /found\.length\} subjects/u,
  /query\.columns\.length\} columns/u,
  /row\.times\} rows/u,
  /gaps\} rules/u,
  /\{count\} rows/u, // more than the limit of a page
  /\{actions\} actions/u, // more than a limit, which is at least 1
  /MAX_|DEFAULT_LIMITS/u,
];

/** Where the word is a verb, or what is before it is no number. */
const OTHER = [/plugin_id\} reports/u, /command\} findings/u, /rights\.agents/u, /\{limit\} requests/u];

/** A number before a noun in the plural. After "of", the plural is right for any number: `1 of 3 sources`. */
const COUNTED =
  /(?<!\bof )\$\{(?!plural)[^{}]*\} (?:action|agent|column|day|digest|file|finding|hour|item|minute|page|playbook|project|report|request|row|rule|run|second|source|subject|target|workspace)s\b/gu;

test('a number and its noun agree: `plural` writes them', () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const found = files
    .filter((name) => !name.startsWith('sandbox'))
    .flatMap((name) => [...readFileSync(join(SRC, name), 'utf8').matchAll(COUNTED)].map(([text]) => ({ name, text })));
  expect(found.filter(({ text }) => ![...SEVERAL, ...OTHER].some((known) => known.test(text)))).toEqual([]);
});

test.each([
  ['99 * * * *', 'minute: 99 is not valid; give 0 to 59'],
  ['0 24 * * *', 'hour: 24 is not valid; give 0 to 23'],
  [
    '0 0 32 foo 9',
    'day of month: 32 is not valid; give 1 to 31; month: foo is not valid; give 1 to 12, or jan to dec; day of week: 9 is not valid; give 0 to 7, or sun to sat',
  ],
  ['0 0 31 2 *', 'day of month: 31 2 is an impossible day of month for the given month'],
  ['$ 0 * * *', 'pattern includes illegal characters'],
  ['1 2 3', 'must have five fields: minute, hour, day of month, month, day of week'],
])('the error in the schedule %s says what is right', (expression, message) => {
  expect(cronError(expression)).toBe(message);
});
