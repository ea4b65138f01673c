import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Puts faults into a copy of the checkout, one at a time, and shows which tests catch each: `node test/faults.js [PART OF A NAME …]`.
 * A fault whose named tests all pass is printed, and the exit code is 1.
 */

/** @type {readonly (readonly [name: string, file: string, text: string, replacement: string, ...tests: string[]])[]} */
const FAULTS = [
  [
    'a request that may have been processed is repeated',
    'src/http/retry.ts',
    'return problem.notProcessed;',
    'return true;',
    'test/http/retry.test.ts',
  ],
  [
    'a reset that is a time is read as a duration',
    'src/http/rate-limit-headers.ts',
    'return seconds >= EPOCH_SECONDS ?',
    'return seconds < 0 ?',
    'test/http/rate-limit-headers.test.ts',
  ],
  [
    'integers of 64 bits lose digits',
    'src/http/json.ts',
    'if (longestDigits < UNSAFE_DIGITS)',
    'if (longestDigits < 99)',
    'test/http/json.test.ts',
  ],
  [
    'a redirect leads the token to another origin',
    'src/http/redirects.ts',
    'if (to?.origin !== from.origin) return undefined;',
    '',
    'test/http/origin.test.ts',
  ],
  [
    'a list that is shorter than its total is whole',
    'src/services/pagination.ts',
    'total !== undefined && received < total',
    'false',
    'test/services/pagination.test.ts',
  ],
  [
    'links.next may lead to another origin',
    'src/services/pagination.ts',
    'url.origin !== new URL(target.url).origin',
    'false',
    'test/services/pagination.test.ts',
  ],
  [
    'an empty argument is none',
    'src/services/validate-request.ts',
    "args[path] === undefined || args[path] === ''",
    'args[path] === undefined',
    'test/commands/api-rules.test.ts',
  ],
  [
    'a mesh without a root is believed',
    'src/extract/sources/ca-roots.ts',
    'if (roots.length === 0)',
    'if (roots.length < 0)',
    'test/pipeline/empty-lists.test.ts',
    'test/sources',
  ],
  [
    'what is listed and returns 404 is left out',
    'src/extract/sources/shared/list-and-read.ts',
    'if (unreadable === undefined) return;',
    'return;',
    'test/pipeline/failures.test.ts',
  ],
  [
    'a source of which every part is refused is complete',
    'src/extract/sources/shared/list-and-read.ts',
    'if (first && refused.size === parts) throw first;',
    '',
    'test/pipeline/partial.test.ts',
  ],
  [
    'a loss of just shrinkPercent is a mass loss',
    'src/load/judge.ts',
    'deleted * 100 > held * shrinkPercent',
    'deleted * 100 >= held * shrinkPercent',
    'test/lake/close.test.ts',
  ],
  [
    'the number of rows that the service reports is not compared',
    'src/load/judge.ts',
    '|| landed === expected_rows',
    '|| landed >= 0',
    'test/pipeline/csv.test.ts',
  ],
  [
    'a table may lose every row',
    'src/load/judge.ts',
    'if (acceptEmpty || !isEmptied)',
    'if (acceptEmpty || isEmptied || !isEmptied)',
    'test/pipeline/empty-lists.test.ts',
  ],
  [
    'rows of a part that could not be listed are deleted',
    'queries/warehouse/compare_stage.sql',
    'where target in ({{targets}}) and valid_to is null and not ({{isUnknown}})',
    'where target in ({{targets}}) and valid_to is null',
    'test/pipeline/partial.test.ts',
  ],
  [
    'blocks are not verified after an unclean end',
    'src/warehouse/session.ts',
    'if (!isVerified) await verifyChecksums',
    'if (isVerified) await verifyChecksums',
    'test/warehouse/session.test.ts',
  ],
  [
    'a quote ends a literal',
    'src/warehouse/sql-files.ts',
    "identifier.replaceAll('\"', '\"\"')",
    'identifier',
    'test/e2e/hostile-values.test.ts',
    'test/commands/sql-formats.test.ts',
  ],
  [
    'a lock has two holders',
    'src/warehouse/lock.ts',
    'if (!tryLockFile(fd, file)) throw',
    'if (!tryLockFile(fd, file) && !fd) throw',
    'test/warehouse/lock.test.ts',
  ],
  [
    'a rule that can be assessed again stays unassessed',
    'src/tell/findings/evaluate.ts',
    "  'end_unassessed_rules',\n",
    '',
    'test/findings/needed-sources.test.ts',
  ],
  [
    'the newest version in use is older than itself',
    'queries/findings/module-sprawl.sql',
    'where rank < newest_rank',
    'where rank <= newest_rank',
    'test/findings/sprawl.test.ts',
  ],
  [
    'the head of a report shows the title of a finding as markup',
    'reports/partials/lead.hbs',
    '<bdi>{{text}}</bdi> <small><bdi>{{note}}',
    '<bdi>{{{trusted text}}}</bdi> <small><bdi>{{note}}',
    'test/reports/pages.test.ts',
  ],
  [
    'a text that begins with = is a formula',
    'src/tell/reports/format.ts',
    '[=+\\-@\\uff1d',
    '[+\\-@\\uff1d',
    'test/reports/csv.test.ts',
  ],
  [
    'a list at the head of a report hides how much it leaves out',
    'src/tell/reports/lead.ts',
    'Math.max(0, rows.length - MAX_LINES)',
    '0',
    'test/reports/lead.test.ts',
  ],
  [
    'who gets the whole digest gets a part as well',
    'src/tell/mail/recipients.ts',
    'if (excluded.has(mailbox)) continue;',
    '',
    'test/mail/recipients.test.ts',
  ],
  [
    'a mailbox is two by its capitals',
    'src/tell/mail/recipients.ts',
    'return address.toLowerCase();',
    'return address;',
    'test/mail/recipients.test.ts',
  ],
  [
    'a lost response is settled before the lag is over',
    'src/act/settle.ts',
    '[0, 0.01, 0.04, 0.15, 0.4, 1, 1.04]',
    '[0, 0.01, 0.04, 0.15, 0.4]',
    'test/remediation/apply.test.ts',
  ],
  [
    'half of a plan may be contradicted',
    'src/act/apply.ts',
    'contradicted * 2 < actions.length',
    'contradicted * 2 <= actions.length',
    'test/remediation/apply.test.ts',
  ],
  [
    'a plan does not expire while it is applied',
    'src/act/apply.ts',
    'if (context.clock.now().getTime() >= Date.parse(plan.expires_at))',
    'if (Date.parse(plan.expires_at) < 0)',
    'test/remediation/safety.test.ts',
  ],
  [
    'the planner may approve',
    'src/act/approvals.ts',
    'accounts.some((own) => own.toLowerCase() === account)',
    'false',
    'test/remediation/approvals.test.ts',
  ],
  [
    'a line of the ledger need not continue the one before',
    'src/act/ledger-chain.ts',
    'previous !== undefined && previous !== expected.digest',
    'false',
    'test/remediation/ledger-damage.test.ts',
  ],
  [
    'an agent that has pinged since the plan is deleted',
    'src/act/playbooks/reap-dead-agents.ts',
    'return hasPinged ?',
    'return !DEAD ?',
    'test/remediation/apply.test.ts',
  ],
  [
    'a snapshot is deleted though its volume exists',
    'src/act/playbooks/drop-stale-snapshots.ts',
    'snapshot.source_in_provider === false && snapshot.source_registered === false',
    'true',
    'test/playbooks/scheduler.test.ts',
  ],
  [
    'a number that is none is written as JSON',
    'src/ask/query/sql-text.ts',
    'if (isFloat(type)) return',
    'if (!type) return',
    'test/commands/sql-formats.test.ts',
  ],
  [
    'a query may read files',
    'src/ask/query/session.ts',
    "await this.#connection.run('set enable_external_access = false');",
    '',
    'test/query/refused.test.ts',
  ],
  [
    'a page of any name is answered',
    'src/ask/serve/security.ts',
    'hosts.includes(name)',
    'hosts.length >= 0',
    'test/serve/security.test.ts',
  ],
  [
    'any token opens the server',
    'src/ask/serve/security.ts',
    'return timingSafeEqual(digest(given), digest(token));',
    'return digest(given).length === digest(token).length;',
    'test/serve/security.test.ts',
  ],
  [
    'lake close takes any loss',
    'src/lake/close.ts',
    'const loss = acceptShrink ?',
    'const loss = acceptShrink !== undefined ?',
    'test/lake/close.test.ts',
  ],
  [
    'a commit in between is not taken into account',
    'src/lake/commit.ts',
    'if (conflicts(other)) throw new ConflictError(table);',
    '',
    'test/lake/delta-log.test.ts',
  ],
  [
    'a shard may have a number above their count',
    'src/config/shard.ts',
    'index <= count && ',
    '',
    'test/config/shard.test.ts',
  ],
  [
    'any host that begins with 127 is this machine',
    'src/core/loopback.ts',
    '127(?:\\.\\d{1,3}){3}',
    '127.*',
    'test/core/loopback.test.ts',
  ],
  [
    'a wide character takes one cell',
    'src/core/text-table.ts',
    'WIDE.test(character) ? 2 : 1',
    '1',
    'test/core/text-table.test.ts',
  ],
  [
    'a secret is found in one encoding only',
    'src/core/redact/escapes.ts',
    'const MAX_DEPTH = 2;',
    'const MAX_DEPTH = 0;',
    'test/core/redact/mixed-forms.test.ts',
  ],
  ['a change needs no --yes', 'src/cli/api.ts', 'if (yes) return;', 'return;', 'test/commands/api.test.ts'],
  [
    'a job that failed is reported as a success',
    'src/run/heartbeat.ts',
    "succeeded(result) ? '' : '/fail'",
    "''",
    'test/pipeline/heartbeat.test.ts',
  ],
];

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
function tryFault([name, file, text, replacement, ...tests]) {
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
const chosen = FAULTS.filter(([name]) => words.length === 0 || words.some((word) => name.includes(word)));
let missed = 0;
for (const fault of chosen) {
  const [name, file, , , ...tests] = fault;
  const caught = tryFault(fault);
  if (!caught) missed++;
  const by = caught ? `${caught[0]}${caught.length > 1 ? ` and ${caught.length - 1} more` : ''}` : 'NOTHING';
  console.log(`${name} | ${file} | ${tests.join(' ')} | ${by}`);
}
console.log(`${chosen.length} faults, ${missed} that nothing caught`);
process.exitCode = missed > 0 ? 1 : 0;
