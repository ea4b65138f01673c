import { describe, expect, test } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { closeRun } from '../../../src/lake/close.ts';
import { publishToLake } from '../../../src/lake/publish.ts';
import { openDatabase } from '../../../src/warehouse/database.ts';
import { createSqlFiles } from '../../../src/warehouse/sql-files.ts';
import { type LakeProject, lakeProject, type Statement } from '../../helpers/lake-project.ts';

/**
 * Targets move between shards at random, and readers of the lake see what one process would have written: the same versions of every row,
 * the same findings. Pulls fail, or list a part only.
 */

const TARGETS = ['a', 'b', 'c', `it's "d"`];
const KEYS = 6;
const NIGHTS = 5;
const KINDS = ['gauge', 'counter'];

/** Numbers from 0 to 1, the same for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

interface Night {
  readonly asOf: string;
  readonly target: string;
  readonly status: 'complete' | 'partial' | 'failed';
  /** What the service has. */
  readonly rows: readonly {
    readonly name: string;
    readonly kind: string;
    readonly value: number;
    readonly measured: string;
  }[];
}

/** What a pull of a target does to a warehouse. A partial one has listed the gauges only. */
function pull({ asOf, target, status, rows }: Night): readonly Statement[] {
  const listed = status === 'partial' ? ['gauge'] : KINDS;
  const truth = rows.filter(({ kind }) => listed.includes(kind));
  const params = { target, as_of: asOf, truth: JSON.stringify(truth) };
  const table = `(select unnest(from_json($truth, '[{"name": "varchar", "kind": "varchar", "value": "double", "measured": "timestamptz"}]'), recursive := true))`;
  const open = `open.target = $target and open.valid_to is null and open.kind in (${listed.map((kind) => `'${kind}'`).join(', ')})`;
  const same = 'truth.kind = open.kind and truth.name = open.name';
  const add = (sql: string): Statement => ({
    sql,
    params: Object.fromEntries(Object.entries(params).filter(([name]) => sql.includes(`$${name}`))),
  });
  const recorded = {
    sql: `insert into pulls by name select strftime($as_of::timestamptz, '%Y%m%dT%H%M%SZ') as run_id, $target as target, unnest(['autoscaler_metrics', 'autoscaler_health']) as source,
      $status as status, $rows::bigint as rows, $as_of::timestamptz as as_of, $as_of::timestamptz as started_at`,
    params: { as_of: asOf, target, status, rows: rows.length },
  };
  if (status === 'failed') return [recorded];
  return [
    add(`update autoscaler_metrics_history as open set valid_to = $as_of::timestamptz
      where ${open} and not exists (from ${table} as truth where ${same} and truth.value = open.value)`),
    add(`insert into autoscaler_metrics_history by name select $target as target, kind, name, value, measured as measured_at, $as_of::timestamptz as valid_from
      from ${table} as truth where not exists (from autoscaler_metrics_history as open where ${open} and ${same})`),
    add(
      `update autoscaler_metrics_history as open set measured_at = truth.measured from ${table} as truth where ${open} and ${same}`,
    ),
    add(`delete from findings where target = $target`),
    add(`insert into findings by name select md5($target || name || kind) as finding_id, $target as target, 'r' as rule, 'warning' as severity, 's' as subject_type,
      name as subject_id, 't' as title, 'open' as state, timestamptz '2026-01-01' as first_seen, timestamptz '2026-01-01' as last_seen, 0 as times_reopened
      from ${table} where value > 2`),
    recorded,
  ];
}

/** The nights of all targets. */
function createNights(random: () => number): readonly (readonly Night[])[] {
  const rows = TARGETS.map(() => new Map<string, number>());
  return Array.from({ length: NIGHTS }, (_, night) => {
    const asOf = new Date(Date.UTC(2026, 8, 26 + night, 2, 15)).toISOString();
    return TARGETS.map((target, index): Night => {
      const current = rows[index] ?? new Map();
      for (let change = 0; change < 3; change++) {
        const key = `${KINDS[Math.floor(random() * 2)]}-${Math.floor(random() * KEYS)}`;
        if (random() < 0.3) current.delete(key);
        else current.set(key, Math.floor(random() * 4));
      }
      const chance = random();
      const status = chance < 0.2 ? 'failed' : chance < 0.4 ? 'partial' : 'complete';
      const listed = [...current].map(([key, value]) => {
        const [kind = '', name = ''] = key.split('-');
        return { kind, name, value, measured: asOf };
      });
      return { asOf, target, status: night === 0 ? 'complete' : status, rows: listed };
    });
  });
}

/** Each target is in a shard, and moves in about every third night. */
function createMoves(random: () => number, shards: number): readonly (readonly number[])[] {
  const places = TARGETS.map(() => 1 + Math.floor(random() * shards));
  return Array.from({ length: NIGHTS }, () =>
    TARGETS.map((_, index) => {
      if (random() < 0.35) places[index] = 1 + Math.floor(random() * shards);
      return places[index] ?? 1;
    }),
  );
}

/**
 * A shard that a target has come to knows of its rows what it has listed: before its first complete pull, a row that is gone from a part
 * cannot be told from one of a part that could not be listed, and stays. So that pull is complete here.
 */
function completeMoves(nights: readonly (readonly Night[])[], moves: readonly (readonly number[])[]) {
  const last: (number | undefined)[] = [];
  return nights.map((night, number) =>
    night.map((one, index): Night => {
      const place = moves[number]?.[index];
      const isFirst = one.status === 'partial' && last[index] !== place;
      const status = isFirst ? 'complete' : one.status;
      if (status === 'complete') last[index] = place;
      return { ...one, status };
    }),
  );
}

const HISTORY =
  'select target, kind, name, value, measured_at, valid_from, valid_to from autoscaler_metrics_history order by all';
const CURRENT = 'select target, kind, name, value, measured_at from autoscaler_metrics order by all';
const FINDINGS = 'select finding_id, target, subject_id, state from findings order by all';

async function close(project: LakeProject, run: string, shards: number, acceptShrink = false) {
  const database = await openDatabase(':memory:');
  try {
    const files = createSqlFiles([PACKAGE_ROOT]);
    const { signal } = new AbortController();
    const refusing = { shrinkPercent: 50, acceptShrink, signal, nowMs: Date.now() };
    return await closeRun({ store: project.store, database, files, run, shards, ...refusing });
  } finally {
    database.close();
  }
}

const configOf = ({ config }: LakeProject, index: number, count: number, targets: readonly string[]): Config => ({
  ...config,
  shard: { index, count },
  targets: targets.map((name) => ({ ...config.targets[0], name }) as Config['targets'][number]),
});

describe.each([
  { seed: 3, shards: 4, unpublished: 0 },
  { seed: 4, shards: 3, unpublished: 0.4 },
])('moves of seed $seed between $shards shards', ({ seed, shards, unpublished }) => {
  test(`make the lake of one process${unpublished > 0 ? ', as it is now, where nights were not published' : ''}`, async () => {
    const random = createRandom(seed);
    const moves = createMoves(random, shards);
    const nights = completeMoves(createNights(random), moves);
    const twin = await lakeProject({ tables: 'few' });
    const projects = await Promise.all(Array.from({ length: shards }, () => lakeProject({ tables: 'few' })));
    const [lake] = projects as [LakeProject];
    for (const [number, night] of nights.entries()) {
      const asOf = night[0]?.asOf ?? '';
      await twin.night(asOf, ...night.flatMap(pull));
      for (const [index, project] of projects.entries()) {
        const own = night.filter((_, target) => moves[number]?.[target] === index + 1);
        await project.night(asOf, ...own.flatMap(pull));
        if (random() < unpublished && number < NIGHTS - 1) continue;
        const config = configOf(
          project,
          index + 1,
          shards,
          own.map(({ target }) => target),
        );
        await publishToLake({ config, store: lake.store, now: new Date(asOf), run: asOf.slice(0, 10) });
      }
      expect((await close(lake, asOf.slice(0, 10), shards)).refused).toEqual([]);
      if (unpublished > 0 && number < NIGHTS - 1) continue;
      const queries = unpublished > 0 ? [CURRENT, FINDINGS] : [HISTORY, CURRENT, FINDINGS];
      for (const sql of queries) {
        expect(await lake.inLake(sql), `${sql} after night ${number}`).toEqual(await twin.inWarehouse(sql));
      }
    }
  });
});

test('a target that has moved keeps what its new shard could not list, until that has pulled all of it', async () => {
  const [first, second] = [await lakeProject({ tables: 'few' }), await lakeProject({ tables: 'few' })];
  const row = (kind: string, name: string) => ({ kind, name, value: 3, measured: '2026-10-01T02:15:00Z' });
  const night = async (project: LakeProject, index: number, one: Night) => {
    await project.night(one.asOf, ...pull(one));
    const config = configOf(project, index, 2, ['a']);
    await publishToLake({ config, store: first.store, now: new Date(one.asOf), run: one.asOf.slice(0, 10) });
    await close(first, one.asOf.slice(0, 10), 2);
    const names = await first.inLake(
      'select kind, name, valid_from from autoscaler_metrics_history where valid_to is null order by all',
    );
    return names.map(({ kind, name, valid_from }) => `${kind} ${name} since ${String(valid_from).slice(8, 10)}`);
  };
  const base = { target: 'a', status: 'complete' } as const;
  const all = [row('counter', 'x'), row('counter', 'y'), row('gauge', 'z')];
  const seen = ['counter x since 01', 'counter y since 01', 'gauge z since 01'];
  expect(await night(first, 1, { ...base, asOf: '2026-10-01T02:15:00Z', rows: all })).toEqual(seen);
  expect(await night(second, 2, { ...base, asOf: '2026-10-02T02:15:00Z', status: 'failed', rows: [] })).toEqual(seen);
  expect(await first.inLake('select count(*)::int as n from findings')).toEqual([{ n: 3 }]);
  const partial = { ...base, asOf: '2026-10-03T02:15:00Z', status: 'partial', rows: [row('gauge', 'z')] } as const;
  expect(await night(second, 2, partial)).toEqual(seen);
  const rest = { ...base, asOf: '2026-10-04T02:15:00Z', rows: [row('counter', 'x'), row('gauge', 'z')] };
  expect(await night(second, 2, rest)).toEqual(['counter x since 01', 'gauge z since 01']);
});

/** Two shards of one lake, each of which pulls its targets in a night and publishes. */
async function twoShards() {
  const [first, second] = [await lakeProject({ tables: 'few' }), await lakeProject({ tables: 'few' })];
  const row = (name: string) => ({ kind: 'gauge', name, value: 3, measured: '2026-10-01T02:15:00Z' });
  /** @param targets each with the name of its row; without one, its pull fails */
  const night = async (
    project: LakeProject,
    index: number,
    asOf: string,
    targets: Readonly<Record<string, string>>,
  ) => {
    const nights = Object.entries(targets).map(
      ([target, name]): Night => ({ asOf, target, status: name ? 'complete' : 'failed', rows: [row(name)] }),
    );
    await project.night(asOf, ...nights.flatMap(pull));
    const config = configOf(project, index, 2, Object.keys(targets));
    await publishToLake({ config, store: first.store, now: new Date(asOf), run: asOf.slice(0, 10) });
  };
  const now = () => first.inLake('select target, name from autoscaler_metrics order by all');
  return { first, second, night, now };
}

test('a run that is closed late brings back no rows of a target that has moved since; a new publish of the shard adds the rest', async () => {
  const { first, second, night, now } = await twoShards();
  await night(first, 1, '2026-10-01T02:15:00Z', { a: 'old', b: 'b' });
  await night(second, 2, '2026-10-02T02:15:00Z', { a: 'new' });
  expect(await close(first, '2026-10-02', 2)).toMatchObject({ closed: [2], refused: [] });
  expect(await close(first, '2026-10-01', 2)).toMatchObject({
    closed: [],
    refused: [{ shard: 1, why: 'another shard has pulled a since: run the shard again' }],
  });
  expect(await now()).toEqual([{ target: 'a', name: 'new' }]);
  await night(first, 1, '2026-10-03T02:15:00Z', { b: 'b' });
  expect(await close(first, '2026-10-03', 2)).toMatchObject({ closed: [1], refused: [] });
  expect(await now()).toEqual([
    { target: 'a', name: 'new' },
    { target: 'b', name: 'b' },
  ]);
  expect(await close(first, '2026-10-01', 2)).toMatchObject({ closed: [], known: [1], refused: [] });
});

test('a run that a shard has loaded late is in the lake where a run of another shard has its ID', async () => {
  const { first, second, night, now } = await twoShards();
  await night(first, 1, '2026-10-01T02:15:00Z', { a: 'a' });
  await close(first, '2026-10-01', 2);
  await night(second, 2, '2026-10-02T02:15:00Z', { b: 'b' });
  await night(first, 1, '2026-10-03T02:15:00Z', { a: 'a' });
  await close(first, '2026-10-03', 2);
  await close(first, '2026-10-02', 2);
  await night(first, 1, '2026-10-02T02:15:00Z', { c: 'late' });
  expect(await close(first, '2026-10-02', 2)).toMatchObject({ closed: [1], known: [2], refused: [] });
  expect((await now()).map(({ name }) => name)).toEqual(['a', 'b', 'late']);
});

test('a run that is closed late has the rows of a target that has moved and could not be pulled there', async () => {
  const { first, second, night, now } = await twoShards();
  await night(first, 1, '2026-10-01T02:15:00Z', { a: 'a', b: 'b' });
  await night(second, 2, '2026-10-02T02:15:00Z', { a: '' });
  expect(await close(first, '2026-10-02', 2)).toMatchObject({ closed: [2], refused: [] });
  expect(await close(first, '2026-10-01', 2)).toMatchObject({ closed: [1], refused: [] });
  expect(await now()).toEqual([
    { target: 'a', name: 'a' },
    { target: 'b', name: 'b' },
  ]);
});

describe('close', () => {
  const workspaces = (count: number, asOf: string) =>
    `insert into workspaces_history by name select 'a' as target, 'ws-' || i as external_id, timestamptz '${asOf}' as valid_from from range(${count}) as range(i)`;
  const night = async (project: LakeProject, to: LakeProject, index: number, asOf: string, change: string) => {
    const rows = [{ asOf, target: 'a', status: 'complete', rows: [] }] as const;
    const pulls = rows.flatMap(pull).filter(({ sql }) => sql.includes('insert into pulls'));
    const recorded = pulls.map(({ sql, params = {} }) => ({
      sql: sql.replace('autoscaler_health', 'workspaces'),
      params,
    }));
    await project.night(asOf, change, ...recorded);
    const config = configOf(project, index, 2, ['a']);
    await publishToLake({ config, store: to.store, now: new Date(asOf), run: asOf.slice(0, 10) });
  };
  const count = async (project: LakeProject) =>
    (await project.inLake('select count(*)::int as n from workspaces'))[0]?.n;

  test('makes no version of names in another order, of a target that has come from another shard', async () => {
    const [first, second] = [await lakeProject({ tables: 'few' }), await lakeProject({ tables: 'few' })];
    for (const [index, project, names] of [
      [1, first, 'x, y'],
      [2, second, 'y, x'],
    ] as const) {
      const asOf = `2026-10-0${index}T02:15:00Z`;
      const change = `insert into workspaces_history by name select 'a' as target, 'ws' as external_id, '${names}' as modules, timestamptz '${asOf}' as valid_from`;
      await night(project, first, index, asOf, change);
      expect(await close(first, asOf.slice(0, 10), 2)).toMatchObject({ refused: [] });
    }
    const begun = "select strftime(timezone('UTC', valid_from), '%d') as day from workspaces_history";
    expect(await first.inLake(begun)).toEqual([{ day: '01' }]);
  });

  test('takes what a pull has accepted, and asks for a person where a target has come with few of its rows', async () => {
    const [first, second] = [await lakeProject({ tables: 'few' }), await lakeProject({ tables: 'few' })];
    await night(first, first, 1, '2026-10-01T02:15:00Z', workspaces(20, '2026-10-01T02:15:00Z'));
    await close(first, '2026-10-01', 2);
    const end = `update workspaces_history set valid_to = timestamptz '2026-10-02T02:15:00Z' where external_id < 'ws-2'`;
    await night(first, first, 1, '2026-10-02T02:15:00Z', end);
    expect(await close(first, '2026-10-02', 2)).toMatchObject({ closed: [1], refused: [] });
    const kept = Number(await count(first));
    expect(kept).toBeLessThan(10);
    await night(second, first, 2, '2026-10-03T02:15:00Z', workspaces(1, '2026-10-03T02:15:00Z'));
    expect(await close(first, '2026-10-03', 2)).toMatchObject({
      closed: [],
      refused: [
        { shard: 2, why: `a has come from another shard, and ${kept} of its ${kept} rows of workspaces would go` },
      ],
    });
    expect(await count(first)).toBe(kept);
    expect(await close(first, '2026-10-03', 2, true)).toMatchObject({ closed: [2], refused: [] });
    expect(await count(first)).toBe(1);
  });
});
