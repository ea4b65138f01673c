import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/**
 * Puts faults into a copy of the checkout, one at a time, and shows which tests catch each: `node test/faults.js [PART OF A NAME …]`.
 * A fault whose named tests all pass is printed, and the exit code is 1.
 */

/** @type {readonly { fault: string, file: string, text: string, replacement: string, tests: readonly string[] }[]} */
const FAULTS = parse(readFileSync(new URL('faults.yaml', import.meta.url), 'utf8'));

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const LEFT_OUT = new Set(['.git', 'node_modules', 'out']);

const copy = mkdtempSync(join(tmpdir(), 'tidemark-faults-'));
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));
cpSync(ROOT, copy, { recursive: true, filter: (path) => !LEFT_OUT.has(relative(ROOT, path)) });
symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));

/** Runs tests in the copy. @returns the names of those that failed; undefined where vitest did not come to an end */
function runTests(tests) {
  const report = join(copy, 'report.json');
  rmSync(report, { force: true });
  const words = [
    'vitest',
    'run',
    '--project',
    'unit',
    '--project',
    'integration',
    '--testTimeout=120000',
    '--reporter=json',
    `--outputFile=${report}`,
    ...tests,
  ];
  const { status } = spawnSync('npx', words, { cwd: copy, encoding: 'utf8' });
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
    const failed = testResults.flatMap((file) => {
      const names = file.assertionResults.filter((one) => one.status === 'failed').map((one) => one.fullName);
      return file.status === 'failed' && names.length === 0 ? [`${relative(copy, file.name)} does not load`] : names;
    });
    return failed.length > 0 || status === 0 ? failed : undefined;
  } catch {
    return undefined;
  }
}

/** @returns what caught a fault; undefined where nothing did */
function tryFault({ fault: name, file, text, replacement, tests }) {
  const path = join(copy, file);
  const original = readFileSync(path, 'utf8');
  if (original.split(text).length !== 2) throw new Error(`${name}: the text does not occur exactly once in ${file}`);
  writeFileSync(
    path,
    original.replace(text, () => replacement),
  );
  const failed = runTests(tests);
  writeFileSync(path, original);
  if (failed === undefined) throw new Error(`${name}: vitest did not run ${tests.join(' ')}`);
  return failed.length === 0 ? undefined : failed;
}

const words = process.argv.slice(2);
const chosen = FAULTS.filter(({ fault }) => words.length === 0 || words.some((word) => fault.includes(word)));
let missed = 0;
for (const fault of chosen) {
  const { fault: name, file, tests } = fault;
  const caught = tryFault(fault);
  if (!caught) missed++;
  const by = caught ? `${caught[0]}${caught.length > 1 ? ` and ${caught.length - 1} more` : ''}` : 'NOTHING';
  console.log(`${name} | ${file} | ${tests.join(' ')} | ${by}`);
}
console.log(`${chosen.length} faults, ${missed} that nothing caught`);
process.exitCode = missed > 0 ? 1 : 0;
