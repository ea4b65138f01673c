import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { prepare, pullDay, serving, showDay } from './estate.ts';
import { installDlt } from './peers/install.ts';
import { type Peer, pullWithDlt } from './peers/pull.ts';
import type { Usage } from './processes.ts';
import { type Bench, mebibytes, medianRatio, type Part, type Result, type Size, seconds } from './result.ts';

const ROUNDS: Readonly<Record<Size, number>> = { quick: 1, usual: 3, large: 5 };
export const CSV_WORKSPACES: Readonly<Record<Size, number>> = { quick: 2000, usual: 200_000, large: 200_000 };
/** Smaller: dlt takes about 40 seconds for 200,000 rows of JSON. */
const JSON_WORKSPACES: Readonly<Record<Size, number>> = { quick: 2000, usual: 50_000, large: 200_000 };
/** Of the first pull, and of the second. */
const MAX_CSV = { first: 1, second: 0.6 };
const MAX_JSON = { first: 0.4, second: 0.4 };
const MAX_MEMORY = 0.75;

export const dlt: Part = {
  name: 'dlt',
  about: 'pulls of the platform with history, beside dlt 1.31 with its fastest settings',
  async measure(bench) {
    const python = await installDlt(bench.log);
    const sizes = { csv: CSV_WORKSPACES[bench.size], json: JSON_WORKSPACES[bench.size] };
    const estates = {
      csv: await prepare(bench, { workspaces: sizes.csv, as: 'csv' }),
      json: await prepare(bench, { workspaces: sizes.json, as: 'json' }),
    };
    return serving(bench, async (url) => {
      const rounds = (way: Peer['way']) => measureRounds(bench, { python, url: `${url}/${estates[way]}`, way });
      const [csv, json] = [await rounds('csv'), await rounds('json')];
      return [
        ...compareHistory(`${rowCount(sizes.csv)} by CSV`, csv, MAX_CSV),
        ...compareReplace(rowCount(sizes.csv), csv),
        ...compareHistory(`${rowCount(sizes.json)} by JSON pages`, json, MAX_JSON),
      ];
    });
  },
};

/** One round: two pulls of each side, and one of dlt that keeps no history. */
interface PeerRound {
  readonly first: Pair;
  readonly second: Pair;
  readonly replace?: Usage;
}

interface Pair {
  readonly ours: Usage;
  readonly theirs: Usage;
}

export const rowCount = (workspaces: number) => `${workspaces.toLocaleString('en')} workspaces`;

export async function measureRounds(bench: Bench, peer: Omit<Peer, 'folder'>): Promise<readonly PeerRound[]> {
  const rounds = ROUNDS[bench.size];
  const all: PeerRound[] = [];
  for (let round = 1; round <= rounds; round++) {
    const measured = await measureRound(bench.folder, peer);
    const { first, second } = measured;
    const shown = [first.ours, first.theirs, second.ours, second.theirs].map(({ wallMs }) => seconds(wallMs));
    bench.log(
      `${peer.way}, round ${round} of ${rounds}: first ${shown[0]} and ${shown[1]}, second ${shown[2]} and ${shown[3]}`,
    );
    all.push(measured);
  }
  return all;
}

/** Alternates the sides, so that a slow phase of the machine slows both. */
async function measureRound(root: string, peer: Omit<Peer, 'folder'>): Promise<PeerRound> {
  const ours = join(root, 'ours');
  const theirs = join(root, 'theirs');
  for (const folder of [ours, theirs]) await mkdir(folder);
  const first = {
    ours: await pullDay(ours, peer.url, 'day1', peer.way),
    theirs: await pullWithDlt({ ...peer, folder: theirs }, 'scd2'),
  };
  const second = {
    ours: await pullDay(ours, peer.url, 'day2', peer.way),
    theirs: await pullWithDlt({ ...peer, folder: theirs }, 'scd2'),
  };
  for (const folder of [ours, theirs]) await rm(folder, { recursive: true });
  if (peer.way === 'json') return { first, second };
  await mkdir(theirs);
  await showDay(peer.url, 'day1');
  const replace = await pullWithDlt({ ...peer, folder: theirs }, 'replace');
  await rm(theirs, { recursive: true });
  return { first, second, replace };
}

export function compareHistory(rows: string, rounds: readonly PeerRound[], aims?: typeof MAX_CSV): readonly Result[] {
  return (['first', 'second'] as const).flatMap((which) => {
    const pairs = rounds.map((round) => round[which]);
    const what = `${which} pull, ${rows}`;
    return [
      compare(`${what}, time`, pairs, 'wallMs', seconds, aims?.[which]),
      { ...compare(`${what}, CPU time`, pairs, 'cpuMs', seconds), isDetail: true },
      compare(`${what}, peak memory`, pairs, 'peakMiB', mebibytes, aims && MAX_MEMORY),
    ];
  });
}

function compareReplace(rows: string, rounds: readonly PeerRound[]): readonly Result[] {
  const pairs = rounds.flatMap(({ first, replace }) => (replace ? [{ ours: first.ours, theirs: replace }] : []));
  const what = `first pull, ${rows} by CSV, beside \`replace\` without history`;
  return [
    compare(`${what}, time`, pairs, 'wallMs', seconds),
    { ...compare(`${what}, CPU time`, pairs, 'cpuMs', seconds), isDetail: true },
  ];
}

function compare(
  what: string,
  pairs: readonly Pair[],
  field: keyof Usage,
  show: (value: number) => string,
  aim?: number,
): Result {
  const rounds = pairs.map(({ ours, theirs }) => ({ measured: ours[field], against: theirs[field] }));
  return { what, ...medianRatio(rounds, show, 'for dlt'), ...(aim !== undefined && { aim }) };
}
