import { pathToFileURL } from 'node:url';
import type { Config, Target } from '../config/config.ts';
import { suggestName } from '../config/suggest.ts';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { builtInPlaybooks } from '../playbooks/index.ts';
import type { Playbook } from '../remediation/define.ts';
import { loadPlaybooks } from '../remediation/registry.ts';
import { sources as builtInSources } from '../sources/index.ts';
import { fitsTarget, type SourceDefinition } from '../sources/source.ts';

/** The sources and playbooks that runs and commands can use. */
export interface Definitions {
  readonly sources: readonly SourceDefinition[];
  readonly playbooks: readonly Playbook[];
}

export const BUILT_IN: Definitions = { sources: builtInSources, playbooks: builtInPlaybooks };

/** The default export of a module under `plugins:`. */
export type Plugin = Partial<Definitions>;

/** Checks the type of a plugin. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}

/**
 * The definitions of the package, of the modules under `plugins:` and of `extra`, in this order.
 * @throws TidemarkError CONFIG if a module cannot be loaded, or a definition is not valid.
 */
export async function loadDefinitions(config: Config, extra: Plugin = {}): Promise<Definitions> {
  const modules = await Promise.all(config.plugins.map((file, index) => importPlugin(file, `plugins[${index}]`)));
  const plugins = [BUILT_IN, ...modules, extra];
  const sources = plugins.flatMap((plugin) => plugin.sources ?? []);
  assertTargetSources(config, sources);
  if (plugins.length === 2 && !extra.sources && !extra.playbooks) return BUILT_IN;
  const playbooks = plugins.flatMap((plugin) => plugin.playbooks ?? []);
  assertUniqueSources(sources);
  return { sources, playbooks: await loadPlaybooks(config, playbooks) };
}

async function importPlugin(file: string, field: string): Promise<Plugin> {
  const module = await import(pathToFileURL(file).href).catch((cause: unknown) => {
    throw importError(file, field, cause);
  });
  const plugin: unknown = (module as { readonly default?: unknown }).default;
  if (isPlugin(plugin)) return plugin;
  throw new TidemarkError('CONFIG', `${field}: ${file} has no default export with \`sources\` or \`playbooks\``, {
    hint: 'write `export default definePlugin({ sources: […], playbooks: […] })`',
  });
}

function isPlugin(value: unknown): value is Plugin {
  if (typeof value !== 'object' || value === null) return false;
  const { sources, playbooks } = value as Readonly<Record<string, unknown>>;
  const lists = [sources, playbooks].filter((list) => list !== undefined);
  return lists.length > 0 && lists.every(Array.isArray);
}

function importError(file: string, field: string, cause: unknown): TidemarkError {
  const { code } = cause as { readonly code?: unknown };
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && /\.[cm]?ts$/u.test(file)) {
    return new TidemarkError('CONFIG', `${field}: ${file} is TypeScript, which this version of Node cannot run`, {
      cause,
      hint: 'use Node 22.18 or newer, or compile the plugin to JavaScript',
    });
  }
  return new TidemarkError('CONFIG', `${field}: ${file} cannot be loaded: ${errorMessage(cause)}`, { cause });
}

function assertUniqueSources(sources: readonly SourceDefinition[]): void {
  const names = new Set<string>();
  for (const { name } of sources) {
    if (names.has(name)) throw new TidemarkError('CONFIG', `the source ${name} is defined twice`);
    names.add(name);
  }
}

/** Checks the names under `sources` and `without` of each target. @throws TidemarkError CONFIG with one line per unknown name */
function assertTargetSources({ targets }: Config, sources: readonly SourceDefinition[]): void {
  const issues = targets.flatMap((target, index) => {
    const known = sources.filter((source) => fitsTarget(source, target)).map(({ name }) => name);
    return unknownSources(target, known).map(
      ({ field, name }) =>
        `targets[${index}].${field}: a target of kind ${target.kind} has no source ${name}; ${suggestName(name, known)}`,
    );
  });
  if (issues.length > 0) throw new TidemarkError('CONFIG', issues.join('\n'));
}

function unknownSources({ sources = [], without }: Target, known: readonly string[]) {
  const named = [
    ...sources.map((name) => ({ field: 'sources', name })),
    ...without.map((name) => ({ field: 'without', name })),
  ];
  return named.filter(({ name }) => !known.includes(name));
}
