import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { createLog } from '../../src/core/log.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { createRequestMetrics } from '../../src/http/response-body.ts';
import type { PullOutcome } from '../../src/load/record-pulls.ts';
import { createProgress } from '../../src/run/progress.ts';
import { testProject } from '../helpers/test-project.ts';

interface Screen {
  readonly terminal: NodeJS.WriteStream;
  /** The visible lines. */
  lines(): readonly string[];
  raw(): string;
}

/** A terminal that interprets what the display sends: line breaks, cursor up, erase line, cursor to the left. */
function screen(columns = 60, rows = 8): Screen {
  const terminal = Object.assign(new PassThrough(), { isTTY: true, columns, rows }) as unknown as NodeJS.WriteStream;
  let raw = '';
  terminal.on('data', (chunk: Buffer) => {
    raw += chunk.toString('utf8');
  });
  const lines = () => {
    const shown: string[] = [''];
    let row = 0;
    for (const [part] of raw.replaceAll('\u001B', '␛').matchAll(/␛\[\d*[A-Z]|\n|[^␛\n]+/gu)) {
      if (part === '\n') {
        row++;
        shown[row] ??= '';
      } else if (part === '␛[1A') row--;
      else if (part === '␛[2K') shown[row] = '';
      else if (!part.startsWith('␛')) shown[row] += part;
    }
    return shown.filter((line) => line !== '');
  };
  return { terminal, lines, raw: () => raw };
}

const outcome = (target: string, source: string, status: PullOutcome['status'] = 'complete'): PullOutcome => ({
  target,
  source,
  status,
  rows: 7,
  expected_rows: 7,
  requests: 2,
  retries: 0,
  throttle_wait_ms: 0,
  bytes: 1,
  reused: 0,
  inserted: 7,
  changed: 0,
  deleted: 0,
  error: status === 'complete' ? null : 'not today',
  failure: null,
  note: null,
});

async function drawing(columns?: number, rows?: number) {
  const view = screen(columns, rows);
  const log = createLog({ write: (text) => view.terminal.write(text), redactor: new Redactor(), quiet: false });
  let nowMs = 0;
  const progress = await createProgress({ terminal: view.terminal, log, intervalMs: 1, now: () => nowMs });
  const drawn = async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return view.lines();
  };
  const at = (ms: number) => {
    nowMs = ms;
  };
  return { ...view, progress, drawn, at };
}

test('each pull in progress has a line with rows, requests, rate and waits', async () => {
  const { progress, drawn, at } = await drawing();
  const metrics = createRequestMetrics();
  progress.start('acme', 'agents', metrics);
  progress.start('vault', 'keys', createRequestMetrics());
  Object.assign(metrics, { rows: 36, requests: 9, retries: 1, throttleWaitMs: 1234 });
  at(2000);
  expect(await drawn()).toEqual([
    '  acme: agents  36 rows, 9 requests, 4.5/s, 1 retried, wai…',
    '  vault: keys  0 rows, 0 requests, 0.0/s',
  ]);
  progress.end();
});

test('ended pulls and log lines go above the display as plain lines, and end() removes the display', async () => {
  const { progress, drawn, lines, raw } = await drawing();
  progress.start('acme', 'agents', createRequestMetrics());
  progress.start('vault', 'keys', createRequestMetrics());
  progress.log.info('acme: agents: retrying');
  progress.done(outcome('acme', 'agents'));
  expect(await drawn()).toEqual([
    'acme: agents: retrying',
    'acme: agents: 7 rows (+7 ~0 -0), 2 requests',
    '  vault: keys  0 rows, 0 requests, 0.0/s',
  ]);
  progress.done(outcome('vault', 'keys', 'failed'));
  progress.fail([outcome('vault', 'keys', 'failed')]);
  progress.end();
  expect(lines()).toEqual([
    'acme: agents: retrying',
    'acme: agents: 7 rows (+7 ~0 -0), 2 requests',
    'warning: vault: keys: failed: not today (2 requests)',
    'rows of a source: + new, ~ changed, - gone',
  ]);
  expect(raw()).not.toContain('\u001B[?25l'); // the cursor is never hidden, so a kill cannot leave it so
});

test('a note of a complete pull is part of its line', async () => {
  const { progress, lines } = await drawing();
  progress.start('nomad', 'external_volumes', createRequestMetrics());
  progress.done({ ...outcome('nomad', 'external_volumes'), note: 'plugin ab is unknown: no answer' });
  progress.end();
  expect(lines().join(' ')).toContain('2 requests; note: plugin ab is unknown: no answer');
});

test('a small screen shows some pulls and the number of the others', async () => {
  const { progress, drawn } = await drawing(60, 8);
  for (let index = 0; index < 10; index++) progress.start('acme', `source-${index}`, createRequestMetrics());
  const lines = await drawn();
  expect(lines.length).toBe(5);
  expect(lines.at(-1)).toBe('  and 6 more');
  progress.end();
});

test('a pull on a terminal draws there, leaves plain lines, and keeps stdout for the result', async () => {
  const place = await testProject({ workspaces: 5 });
  const { terminal, lines, raw } = screen(100, 40);
  const result = await place.tidemark(['pull', '--json', '--target', 'vault'], { terminal });
  expect(JSON.parse(result.stdout).status).toBe('complete');
  expect(stripVTControlCharacters(raw())).toMatch(/vault: keys {2}\d+ rows, \d+ requests, \d/u);
  expect(lines()).toEqual([]);
  expect(result.stderr).toMatch(/^vault: keys: \d+ rows/mu);
});

test('--quiet draws nothing', async () => {
  const place = await testProject({ workspaces: 5 });
  const { terminal, raw } = screen();
  await place.tidemark(['--quiet', 'pull', '--target', 'vault'], { terminal });
  expect(raw()).toBe('');
});
