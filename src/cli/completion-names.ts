import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { discoverFiles, overlayRoots, PACKAGE_ROOT } from '../core/paths.ts';

export interface Candidate {
  readonly value: string;
  /** May be empty. */
  readonly description: string;
}

export type NameKind = keyof typeof LISTS;

/** Names come from the configuration, if there is one, and from the package. */
type ListNames = (roots: readonly string[], configFile: string) => Promise<readonly Candidate[]>;

/** All names of a kind that a shell can take as one word. They are read from files, since loading the code takes too long. */
export async function listNames(kind: NameKind, configFile: string): Promise<readonly Candidate[]> {
  const roots = existsSync(configFile) ? overlayRoots(dirname(configFile)) : [PACKAGE_ROOT];
  const candidates = await LISTS[kind](roots, configFile);
  return candidates.filter(({ value }) => /^\w[\w.@/-]*$/u.test(value));
}

const LISTS = {
  jobs: (roots) => listFiles(roots, 'jobs', '.yaml'),
  operations: listOperations,
  plans: listPlans,
  playbooks: listPlaybooks,
  queries: (roots) => listFiles(roots, 'queries/saved', '.sql'),
  reports: listReports,
  rules: (roots) => listFiles(roots, 'queries/findings', '.sql'),
  sources: listSources,
  tables: (roots) => listFiles(roots, 'queries/tables', '.sql'),
  targets: listTargets,
} satisfies Readonly<Record<string, ListNames>>;

export function isNameKind(kind: string): kind is NameKind {
  return Object.hasOwn(LISTS, kind);
}

async function listFiles(roots: readonly string[], folder: string, extension: string): Promise<readonly Candidate[]> {
  return [...discoverFiles(roots, folder, extension).keys()].map(toCandidate);
}

function toCandidate(value: string): Candidate {
  return { value, description: '' };
}

/** A report is a template with a summary. */
async function listReports(roots: readonly string[]): Promise<readonly Candidate[]> {
  const templates = await listFiles(roots, 'reports', '.hbs');
  return templates.filter(({ value }) =>
    roots.some((root) => existsSync(join(root, 'queries', 'reports', value, 'summary.sql'))),
  );
}

/** The headers of the tables name the sources that fill them, those of plugins too. */
async function listSources(roots: readonly string[]): Promise<readonly Candidate[]> {
  const tables = discoverFiles(roots, 'queries/tables', '.sql');
  const texts = await Promise.all([...tables.values()].map((file) => readFile(file, 'utf8')));
  const sources = texts.flatMap((text) => /^-- source: (\S+)/mu.exec(text)?.[1] ?? []);
  return [...new Set(sources)].sort().map(toCandidate);
}

async function listPlaybooks(): Promise<readonly Candidate[]> {
  const { builtInPlaybooks } = await import('../act/playbooks/index.ts');
  return builtInPlaybooks.map(({ name }) => toCandidate(name)).sort((a, b) => (a.value < b.value ? -1 : 1));
}

async function listOperations(): Promise<readonly Candidate[]> {
  const text = await readFile(join(PACKAGE_ROOT, 'templates', 'completion', 'operations.tsv'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'))
    .map(([value = '', description = '']) => ({ value, description }));
}

/** The parts of the configuration that complete names; the rest may be invalid. */
interface PartialConfig {
  readonly data?: unknown;
  readonly targets?: unknown;
}

async function readPartialConfig(configFile: string): Promise<PartialConfig> {
  const { parse } = await import('yaml');
  return (parse(await readFile(configFile, 'utf8'), { maxAliasCount: 100 }) as PartialConfig | null) ?? {};
}

async function listTargets(_roots: readonly string[], configFile: string): Promise<readonly Candidate[]> {
  const { targets } = await readPartialConfig(configFile);
  return (Array.isArray(targets) ? targets : []).flatMap(({ name, kind }) =>
    typeof name === 'string' ? [{ value: name, description: typeof kind === 'string' ? kind : '' }] : [],
  );
}

async function listPlans(_roots: readonly string[], configFile: string): Promise<readonly Candidate[]> {
  const { data } = await readPartialConfig(configFile);
  const folder = resolve(dirname(configFile), typeof data === 'string' ? data : 'data');
  return listFiles([folder], 'plans', '.json');
}
