import { appendFile, copyFile, cp, mkdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildCommand } from '../../helpers/built-command.ts';
import { type CodeBlock, codeBlocks, PAGES } from '../../helpers/documents.ts';
import { cleanAtEnd, tempFolder } from '../../helpers/temp.ts';
import { openShell, type Shell } from './shell.ts';

const atEnd = cleanAtEnd();

/**
 * Where a block runs: in an empty folder, in a copy of what `tidemark demo` made (the blocks of a page in the same copy, one after another;
 * or in a second one, as the demo left it), or nowhere, and why.
 */
type Where = 'empty' | 'demo' | 'second demo' | { readonly not: string };

const REAL = { not: 'it needs a real host, cluster or service' };
const HOUR = { not: 'test/system/first-hour runs it in a clean clone' };

/** Every command block of the documents: page, how it begins, where it runs. */
const BLOCKS: readonly (readonly [page: string, begins: string, where: Where])[] = [
  ['README.md', 'npm ci && npm run demo', HOUR],
  ['README.md', 'npm ci && npm pack', HOUR],
  ['README.md', 'tidemark init', 'empty'],
  ['README.md', 'tidemark doctor', 'demo'],
  ['README.md', '$ tidemark findings', 'second demo'],
  ['README.md', 'cd demo', HOUR],
  ['CONTRIBUTING.md', 'npm ci', { not: '.ci/run runs the checks, and a benchmark takes an hour' }],
  ['bench/README.md', 'npm run bench', { not: 'it takes an hour; test/bench reads the options' }],
  ['deploy/README.md', 'tidemark schedule --list', 'demo'],
  ['deploy/README.md', 'sudo npm install', REAL],
  ['deploy/README.md', 'sudo systemd-run', REAL],
  ['deploy/README.md', 'podman build', REAL],
  ['deploy/README.md', 'kubectl create', REAL],
  ['deploy/README.md', 'nomad var put', REAL],
  ['docs/analysts.md', 'tidemark sql "select project_name', 'demo'],
  ['docs/analysts.md', 'openssl rand', 'demo'],
  ['docs/analysts.md', 'curl -H', 'demo'],
  ['docs/analysts.md', 'duckdb -readonly', { not: 'test/clients runs it with the duckdb CLI' }],
  ['docs/analysts.md', 'tidemark export', 'demo'],
  ['docs/approvals.md', 'tidemark playbook approve plan.json --by alice --key', 'demo'],
  ['docs/approvals.md', '# the same on a machine', 'demo'],
  [
    'docs/backup.md',
    'tidemark backup',
    { not: 'it needs a second machine; test/commands and test/system/kill run its commands' },
  ],
  ['docs/changes.md', 'tidemark diff', 'demo'],
  ['docs/findings.md', 'tidemark findings', { not: 'ID stands for a finding; test/findings runs these commands' }],
  ['docs/first-night.md', 'export TFE_TOKEN', REAL],
  [
    'docs/first-night.md',
    'tidemark permissions --target vault >',
    { not: 'it needs Vault, Nomad and Consul; test/system/first-hour runs the lines of tidemark' },
  ],
  ['docs/first-night.md', 'tidemark permissions --target vault --playbook', 'demo'],
  ['docs/lake.md', 'tidemark lake publish', 'demo'],
  ['docs/lake.md', 'tidemark run nightly --shard', { not: '16 machines; test/system/lake/shards.test.ts runs shards' }],
  ['docs/library.md', 'npm install', { not: 'test/system/consumer installs the tarball in a project' }],
  ['docs/mail-and-schedule.md', 'tidemark mail', 'demo'],
  ['docs/playbooks.md', 'tidemark playbook plan', 'demo'],
  ['docs/policy.md', 'tidemark policy check', 'demo'],
  ['docs/sandbox.md', 'tidemark sandbox', 'empty'],
  ['docs/serve.md', 'tidemark serve', 'demo'],
];

const found: readonly CodeBlock[] = PAGES.flatMap(codeBlocks).filter(
  ({ language, text }) => language === 'sh' || text.startsWith('$ '),
);
const placeOf = ({ page, text }: CodeBlock) =>
  BLOCKS.filter(([named, begins]) => named === page && text.startsWith(begins)).map(([, , where]) => where);

test('every command block of the documents is run, or says why it cannot be', () => {
  expect(found.filter((block) => placeOf(block).length !== 1)).toEqual([]);
  const unused = BLOCKS.filter(
    ([page, begins]) => !found.some((each) => each.page === page && each.text.startsWith(begins)),
  );
  expect(unused).toEqual([]);
});

/** The port that a page names. */
const PORT = 8420;
const portIsFree = await new Promise<boolean>((resolve) => {
  const server = createServer();
  server.once('error', () => resolve(false));
  server.listen(PORT, () => server.close(() => resolve(true)));
});

function reasonAgainst(block: CodeBlock): string | undefined {
  const [where] = placeOf(block);
  if (typeof where === 'object') return where.not;
  const listens = /^tidemark serve(?!.*--port)|:8420/mu.test(block.text);
  return listens && !portIsFree ? `port ${PORT} is in use` : undefined;
}

let command: string;
let demo: string;
beforeAll(async () => {
  command = await buildCommand();
  const parent = await tempFolder(atEnd);
  const shell = await openShell(command, atEnd);
  await shell.run('tidemark demo --runs 2 --workspaces 40', parent);
  demo = join(parent, 'demo');
});

/** What a page asks a reader to have beside the demo. */
const PREPARE: Readonly<Record<string, (shell: Shell, folder: string) => Promise<void>>> = {
  'docs/policy.md': async (_, folder) => {
    await copyFile(join(folder, 'policy', 'versions.yaml'), join(folder, 'draft.yaml'));
  },
  'docs/approvals.md': async (shell, folder) => {
    await shell.run(`mkdir ~/.ssh && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519`, folder);
    const key = await readFile(join(shell.home, '.ssh', 'id_ed25519.pub'), 'utf8');
    await appendFile(join(folder, 'tidemark.yaml'), `approvers:\n  people: [{ name: alice, key: ${key.trim()} }]\n`);
    await shell.run('tidemark playbook plan trim-anonymous-policy -o plan.json', folder);
  },
};

describe.each([...new Set(found.map(({ page }) => page))])('%s', (page) => {
  const ends: (() => Promise<void>)[] = [];
  const cleanup = (end: () => Promise<void>) => void ends.push(end);
  const folders = new Map<Where, string>();
  let shell: Shell;
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });

  async function openFolder(where: Where): Promise<string> {
    shell ??= await openShell(command, cleanup);
    const known = folders.get(where);
    if (known !== undefined) return known;
    const folder = join(await tempFolder(cleanup), 'folder');
    if (where === 'empty') await mkdir(folder);
    else await cp(demo, folder, { recursive: true });
    folders.set(where, folder);
    if (where === 'demo') await PREPARE[page]?.(shell, folder);
    return folder;
  }

  for (const block of found.filter((each) => each.page === page)) {
    const [title = ''] = block.text.split('\n');
    const reason = reasonAgainst(block);
    if (reason !== undefined) console.log(`skipped: ${page}: ${title.trim()}: ${reason}`);
    test.skipIf(reason !== undefined)(title, async () => {
      const folder = await openFolder(placeOf(block)[0] ?? 'empty');
      const lines = block.text.split('\n').flatMap((line) => (line.startsWith('$ ') ? [line.slice(2)] : []));
      if (lines.length === 0) await shell.run(block.text, folder);
      for (const line of lines) await expectShown(await shell.run(line, folder), block.text, line);
    });
  }
});

/** The head of what a page shows below a command is that of what the command prints; the rows belong to another night. */
async function expectShown(stdout: string, block: string, line: string): Promise<void> {
  const shown = block.split(`$ ${line}\n`)[1]?.split('\n')[0] ?? '';
  const words = (text = '') => text.trim().split(/\s+/u);
  expect(words(stdout.split('\n')[0])).toEqual(words(shown));
}
