import { pathToFileURL } from 'node:url';
import type { Playbook } from '../../act/define.ts';
import { builtInPlaybooks } from '../../act/playbooks/index.ts';
import { loadPlaybooks } from '../../act/registry.ts';
import type { Config } from '../../config/config.ts';
import type { Job } from '../../config/job.ts';
import { suggestName } from '../../config/suggest.ts';
import { TidemarkError } from '../../core/errors.ts';
import { isObject } from '../../core/json-path.ts';
import { sources as builtInSources } from '../../extract/sources/index.ts';
import { fitsTarget, type SourceDefinition } from '../../extract/sources/source.ts';
import { describePlugin, toRemoteSources } from './remote.ts';

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
 * The definitions of the package, of the modules under `plugins:` and of `extra`, in this order, validated before any is used. Sources of
 * modules run in threads of their own. A playbook of a module runs in this one, because its guards are asked in the middle of an action: its
 * module is loaded here only if one of its playbooks is used.
 * @param usesPlaybook whether a playbook may be planned or applied; of others, only the declarations are known
 * @throws TidemarkError CONFIG if a module cannot be loaded, or a definition is not valid.
 */
export async function loadDefinitions(
  config: Config,
  extra: Plugin = {},
  usesPlaybook: (name: string) => boolean = () => true,
): Promise<Definitions> {
  const modules = await Promise.all(
    config.plugins.map((file, index) => loadPlugin(file, `plugins[${index}]`, usesPlaybook)),
  );
  const plugins = [BUILT_IN, ...modules, extra];
  const sources = plugins.flatMap((plugin) => plugin.sources ?? []);
  assertTargetSources(config, sources);
  const playbooks = plugins.flatMap((plugin) => plugin.playbooks ?? []);
  const isBuiltIn = plugins.length === 2 && !extra.sources && !extra.playbooks;
  if (isBuiltIn && !playbooks.some(({ name }) => usesPlaybook(name))) return BUILT_IN;
  const names = sources.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new TidemarkError('CONFIG', `the source ${twice} is defined twice`);
  return { sources, playbooks: await loadPlaybooks(config, playbooks) };
}

export function loadJobDefinitions(config: Config, jobs: readonly Job[]): Promise<Definitions> {
  const used = new Set(jobs.flatMap(({ playbooks }) => playbooks.map(({ name }) => name)));
  return loadDefinitions(config, {}, (name) => used.has(name));
}

async function loadPlugin(file: string, field: string, usesPlaybook: (name: string) => boolean): Promise<Plugin> {
  const info = await describePlugin(file, field);
  const sources = toRemoteSources(file, info);
  const declared = info.playbooks ?? [];
  if (!declared.some(({ name }) => usesPlaybook(name))) return { sources, playbooks: declared };
  const { default: plugin } = (await import(pathToFileURL(file).href)) as { readonly default: Plugin };
  return { sources, playbooks: plugin.playbooks ?? [] };
}

/** Checks the names of sources in each target. @throws TidemarkError CONFIG with one line per unknown name */
function assertTargetSources({ targets }: Config, sources: readonly SourceDefinition[]): void {
  const issues = targets.flatMap((target, index) => {
    const known = sources.filter((source) => fitsTarget(source, target)).map(({ name }) => name);
    const what = `a target of kind ${target.kind} has no source`;
    const { without, sees } = target;
    const named = { sources: target.sources ?? [], without, sees: isObject(sees) ? Object.keys(sees) : [] };
    return Object.entries(named).flatMap(([field, names]) =>
      names
        .filter((name) => !known.includes(name))
        .map((name) => `targets[${index}].${field}: ${what} ${name}; ${suggestName(name, known)}`),
    );
  });
  if (issues.length > 0) throw new TidemarkError('CONFIG', issues.join('\n'));
}
