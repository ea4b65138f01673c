import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
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
