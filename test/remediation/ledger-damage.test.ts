import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { LedgerEvent } from '../../src/act/ledger.ts';
import type { LedgerProblem } from '../../src/act/ledger-chain.ts';
import { toLedgerText } from '../../src/act/ledger-chain.ts';
import { rewriteWarehouse } from '../helpers/change-warehouse.ts';
import { type PlaybookHarness, playbookHarness } from '../helpers/playbook-harness.ts';
import { cleanAtEnd } from '../helpers/temp.ts';
import { keepProject } from '../helpers/test-project.ts';

const NEWER = 'is not the line that the warehouse has seen: it, or one before it, was changed';
const SHORTER = (lines: number) =>
  `ends at line ${lines}, and the warehouse has seen 6: it was emptied or cut, or is an older one`;
const BROKEN = (line: number) =>
  `does not continue line ${line - 1}: that line was changed, or lines before this one were removed, added or moved`;

const NESTED = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
const join_ = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('');
const chain = (lines: readonly string[]) => toLedgerText(lines.map((line) => JSON.parse(line) as LedgerEvent));
const without = (lines: readonly string[], ...left: readonly number[]) =>
  join_(lines.filter((_, index) => !left.includes(index + 1)));
const edit = (lines: readonly string[], line: number, from: string, to: string) => {
  const edited = lines.map((text, index) => (index + 1 === line ? text.replace(from, to) : text));
  expect(edited).not.toEqual(lines);
  return edited;
};
const insert = (lines: readonly string[], after: number, line: string) =>
  join_([...lines.slice(0, after), line, ...lines.slice(after)]);

/** Three actions, so six lines: intent and outcome of each. Line and problem, the first one that is found. */
const KINDS: readonly [
  kind: string,
  damage: (lines: readonly string[], text: string) => string | undefined,
  line: number | null,
  problem: string,
][] = [
  ['missing', () => undefined, null, 'is missing, and the table actions has 3 rows of it'],
  ['emptied', () => '', null, SHORTER(0)],
  ['cut after a line', (lines) => without(lines, 6), null, SHORTER(5)],
  ['cut within a line', (_, text) => text.slice(0, -40), null, SHORTER(5)],
  ['cut after a pair', (lines) => without(lines, 5, 6), null, SHORTER(4)],
  ['an older one', (lines) => without(lines, 3, 4, 5, 6), null, SHORTER(2)],
  ['an outcome edited to failed', (lines) => join_(edit(lines, 2, '"applied"', '"failed"')), 3, BROKEN(3)],
  ['the last outcome edited to failed', (lines) => join_(edit(lines, 6, '"applied"', '"failed"')), 6, NEWER],
  ['a name edited', (lines) => join_(edit(lines, 3, 'the operator', 'the intruder')), 4, BROKEN(4)],
  ['a pair removed', (lines) => without(lines, 3, 4), null, SHORTER(4)],
  ['the first pair removed', (lines) => without(lines, 1, 2), null, SHORTER(4)],
  ['an outcome removed', (lines) => without(lines, 4), null, SHORTER(5)],
  ['pairs in another order', (l) => join_([l[0]!, l[1]!, l[4]!, l[5]!, l[2]!, l[3]!]), 3, BROKEN(3)],
  ['a line twice', (lines) => insert(lines, 3, lines[2]!), 4, BROKEN(4)],
  ['a line inserted', (lines) => insert(lines, 2, lines[0]!.replace('a1', 'a9')), 3, BROKEN(3)],
  ['an outcome marked as cut off', (lines) => insert(lines, 2, '{"event":"truncated"}'), 3, 'carries no digest'],
  ['a line that is not JSON', (lines) => join_(edit(lines, 4, '{', '')), 4, 'is damaged'],
  ['a line of another kind', (lines) => join_(edit(lines, 4, '"outcome"', '"other"')), 4, 'is damaged'],
  ['a line that nests without an end', (l) => join_(edit(l, 4, '"after":', `"after":${NESTED},"_":`)), 4, 'is damaged'],
  ['an empty line', (lines) => insert(lines, 4, ''), 5, 'is damaged'],
  ['other line ends', (lines) => lines.map((line) => `${line}\r\n`).join(''), 2, BROKEN(2)],
  ['a digest removed', (lines) => join_(edit(lines, 4, ',"previous":', ',"next":')), 4, 'carries no digest'],
  ['every digest removed', (l) => join_(l.map((line) => line.replace(',"previous":', ',"next":'))), 6, NEWER],
  ['edited, and chained again', (lines) => chain(edit(lines, 2, '"applied"', '"failed"')), 2, 'has a1 of plan'],
  ['a time that is none', (lines) => chain(edit(lines, 3, '"started_at":"2', '"started_at":"on 2')), 3, 'is damaged'],
  ['a pair removed, and chained again', (lines) => chain([...lines.slice(0, 2), ...lines.slice(4)]), null, SHORTER(4)],
  ['a line without a digest appended', (lines) => insert(lines, 6, '{"event":"truncated"}'), 7, 'carries no digest'],
  ['a line with another digest appended', (lines) => insert(lines, 6, lines[1]!), 7, BROKEN(7)],
];

let place: PlaybookHarness;
let text = '';
let restoreProject: () => Promise<void>;
const atEnd = cleanAtEnd();
const ledger = () => join(place.folder, 'data', 'ledger.ndjson');
const verify = async (): Promise<readonly LedgerProblem[]> => {
  const { exit, json } = await place.tidemark(['playbook', 'ledger', 'verify', '--json']);
  const { problems } = json<{ problems: LedgerProblem[] }>();
  expect(exit).toBe(problems.length === 0 ? 0 : 4);
  return problems;
};

beforeAll(async () => {
  place = await playbookHarness({ playbook: 'reap-dead-agents', cleanup: atEnd });
  await place.plan(['--max-percent', '100']);
  await place.approve();
  await place.apply();
  text = await readFile(ledger(), 'utf8');
  restoreProject = await keepProject(place, atEnd);
});
afterEach(() => restoreProject());

describe('a ledger that does not continue what the warehouse has seen', () => {
  const write = async (damaged: string | undefined) => {
    if (damaged === undefined) await rm(ledger());
    else await writeFile(ledger(), damaged);
  };

  test.each(KINDS)('%s: verify says what and where, and an apply is refused', async (_, damage, line, problem) => {
    const lines = text.split('\n').slice(0, -1);
    expect(lines).toHaveLength(6);
    const damaged = damage(lines, text);
    await write(damaged);
    expect(await verify()).toContainEqual({ line, problem: expect.stringContaining(problem) });
    const refused = await place.tidemark(['playbook', 'apply', place.planFile]);
    expect([refused.exit, refused.stdout]).toEqual([4, '']);
    expect(refused.stderr).toContain('`tidemark playbook ledger verify`');
    expect(await readFile(ledger(), 'utf8').catch(() => undefined)).toBe(damaged);
  });

  test.each(['missing', 'cut within a line', 'an outcome edited to failed', 'a line that is not JSON'])(
    '%s: no command writes, and the ledger can be restored from the table',
    async (name) => {
      const [, damage] = KINDS.find(([kind]) => kind === name)!;
      await write(damage(text.split('\n').slice(0, -1), text));
      for (const words of [['plan', place.playbook], ['ledger', '--settle'], ['ledger'], ['show', place.planFile]]) {
        const refused = await place.tidemark(['playbook', ...words]);
        expect([words, refused.exit, refused.stdout]).toEqual([words, 4, '']);
      }
      const before = await place.rows('select * from actions order by action_id');
      expect((await place.tidemark(['playbook', 'ledger', '--restore'])).exit).toBe(0);
      expect(await verify()).toEqual([]);
      expect(await place.rows('select * from actions order by action_id')).toEqual(before);
    },
  );

  test('is told as missing where the table has no rows of it any more', async () => {
    await rewriteWarehouse(place, ['delete from actions']);
    await rm(ledger());
    expect(await verify()).toEqual([{ line: null, problem: 'is missing, and the warehouse has seen 6 lines of it' }]);
  });

  test('ends a run with exit 4, and the table actions keeps its rows', async () => {
    await writeFile(ledger(), '');
    const run = await place.tidemark(['run', 'playbook', '--json']);
    expect([run.exit, run.json()]).toMatchObject([4, { status: 'complete', refused_ledger: expect.any(String) }]);
    expect(await place.rows('select count(*) as n from actions')).toEqual([{ n: 3 }]);
    await writeFile(ledger(), text);
    expect((await place.tidemark(['run', 'playbook'])).exit).toBe(0);
  });

  test('is kept beside the restored one, and what the warehouse had not seen is in the restored one', async () => {
    const unseen = chain([...text.split('\n').slice(0, -1), ...text.split('\n').slice(0, 2).map(renamePlan)]);
    await writeFile(ledger(), unseen.replace('"applied"', '"failed"'));
    expect((await place.tidemark(['playbook', 'ledger', '--restore'])).stderr).toContain('4 actions');
    const restored = await place.ledger();
    expect(restored.map(({ plan_id, status }) => [plan_id === 'p-other', status])).toEqual([
      [false, 'applied'],
      [false, 'applied'],
      [false, 'applied'],
      [true, 'applied'],
    ]);
    const aside = (await readdir(join(place.folder, 'data'))).filter((name) => name.startsWith('ledger.ndjson.'));
    const kept = await Promise.all(aside.map((name) => readFile(join(place.folder, 'data', name), 'utf8')));
    expect(kept).toContain(unseen.replace('"applied"', '"failed"'));
  });

  test('is restored with what follows an unseen line that is damaged', async () => {
    const unseen = chain([...text.split('\n').slice(0, -1), ...text.split('\n').slice(0, 2).map(renamePlan)]);
    await writeFile(ledger(), join_(edit(unseen.split('\n').slice(0, -1), 7, '{', '')));
    expect(await verify()).toContainEqual({ line: 7, problem: 'is damaged' });
    expect((await place.tidemark(['playbook', 'ledger', '--restore'])).stderr).toContain('4 actions');
    expect((await place.ledger()).map(({ plan_id, status }) => [plan_id === 'p-other', status])).toContainEqual([
      true,
      'applied',
    ]);
  });

  test('is used once a person accepts it, unless a line cannot be read', async () => {
    const accept = () => place.tidemark(['playbook', 'ledger', '--accept', '--json']);
    await writeFile(ledger(), join_(edit(text.split('\n').slice(0, -1), 2, '"applied"', '"failed"')));
    const accepted = await accept();
    expect([accepted.exit, accepted.json<{ status: string }[]>()[0]?.status]).toEqual([0, 'failed']);
    expect(await verify()).toEqual([]);
    const applied = await place.tidemark(['playbook', 'apply', place.planFile, '--json']);
    expect([applied.exit, await verify()]).toEqual([0, []]);
    expect((await readFile(ledger(), 'utf8')).split('\n')).toHaveLength(8);
    await appendFile(ledger(), 'no line\n');
    const refused = await accept();
    expect([refused.exit, refused.stderr]).toEqual([4, expect.stringContaining('ledger.ndjson:8 is damaged')]);
    await rm(ledger());
    expect((await accept()).exit).toBe(6);
    await writeFile(ledger(), text);
    expect((await accept()).exit).toBe(0);
  });
});

const renamePlan = (line: string) => JSON.stringify({ ...JSON.parse(line), plan_id: 'p-other' });

test('a line that a crash cut off is no damage, and a sound ledger is not restored', async () => {
  await appendFile(ledger(), '{"event":"int');
  expect(await verify()).toEqual([]);
  const restored = await place.tidemark(['playbook', 'ledger', '--restore']);
  expect([restored.exit, restored.stderr]).toEqual([6, expect.stringContaining('nothing to restore')]);
});

test('--now before the last line is refused for whatever writes', async () => {
  const before = new Date(place.sandbox.now.getTime() - 3_600_000).toISOString();
  for (const words of [
    ['playbook', 'plan', place.playbook],
    ['playbook', 'approve', place.planFile, '--by', 'x', '--irreversible'],
    ['playbook', 'undo', place.planFile],
    ['playbook', 'ledger', '--settle'],
    ['run', 'playbook'],
  ]) {
    const { exit, stderr } = await place.tidemark([...words, '--now', before]);
    expect([words, exit]).toEqual([words, 6]);
    if (words[1] !== 'undo') expect(stderr).toContain('which is in the future of');
  }
  expect(await readFile(ledger(), 'utf8')).toBe(text);
});

describe('a warehouse of 0.1.0 with a ledger that is not chained', () => {
  const unchained = () => text.replaceAll(/,"previous":"\w+"/gu, '');

  /** As that version leaves it: no head, and a table without the lines. */
  function writeOld(...changes: readonly string[]): Promise<void> {
    const columns = ['alter table actions drop column entry', 'delete from schema_digest'];
    return rewriteWarehouse(place, ['drop table ledger_head', ...columns, ...changes]);
  }

  test('is used and continued, and the next run sees it', async () => {
    await writeOld();
    await writeFile(ledger(), unchained());
    expect(await verify()).toEqual([]);
    expect((await place.tidemark(['run', 'playbook'])).exit).toBe(0);
    expect(await readFile(ledger(), 'utf8')).toBe(unchained());
    expect(await place.rows('select lines from ledger_head')).toEqual([{ lines: 6 }]);
    await writeFile(ledger(), unchained().replace('"applied"', '"failed"'));
    expect(await verify()).toHaveLength(2);
  });

  test('may have a head without what a removal replaces', async () => {
    const columns = ['replaced_lines', 'replaced_digest'].map((name) => `alter table ledger_head drop column ${name}`);
    await rewriteWarehouse(place, [...columns, 'delete from schema_digest']);
    expect(await verify()).toEqual([]);
    expect((await place.tidemark(['run', 'playbook'])).exit).toBe(0);
    expect(await place.rows('select lines, replaced_lines from ledger_head')).toEqual([
      { lines: 6, replaced_lines: null },
    ]);
  });

  test('is refused where the table knows more', async () => {
    await writeFile(ledger(), unchained());
    for (const damaged of ['', unchained().replace('"applied"', '"failed"')]) {
      await writeOld();
      await writeFile(ledger(), damaged);
      expect(await verify()).not.toEqual([]);
      expect((await place.tidemark(['run', 'playbook'])).exit).toBe(4);
      expect(await place.rows('select count(*) as n from actions')).toEqual([{ n: 3 }]);
    }
  });

  test('is restored so that what was unconfirmed is not sent again, and what was as wanted stays satisfied', async () => {
    await writeOld(
      "update actions set status = 'unconfirmed', reason = 'x' where action_id = 'a1'",
      "update actions set status = 'skipped', reason = 'no change needed: y' where action_id = 'a2'",
      "update actions set status = 'skipped', reason = 'z' where action_id = 'a3'",
    );
    await rm(ledger());
    expect((await place.tidemark(['playbook', 'ledger', '--restore'])).exit).toBe(0);
    const restored = (await readFile(ledger(), 'utf8')).split('\n').slice(0, -1);
    const outcomes = restored.map((line) => JSON.parse(line));
    expect(outcomes.map(({ status, satisfied, answer }) => [status, satisfied, answer])).toEqual([
      ['unconfirmed', false, 'accepted'],
      ['skipped', true, undefined],
      ['skipped', false, undefined],
    ]);
  });

  test('is restored from the table, which has no lines yet', async () => {
    await writeOld();
    await rm(ledger());
    expect((await place.tidemark(['playbook', 'ledger', '--restore'])).exit).toBe(0);
    const restored = (await readFile(ledger(), 'utf8')).split('\n').slice(0, -1);
    const outcomes = text.split('\n').filter((line) => line.includes('"outcome"'));
    expect(restored.map((line) => ({ ...JSON.parse(line), previous: '' }))).toEqual(
      outcomes.map((line) => ({ ...JSON.parse(line), previous: '' })),
    );
  });
});
