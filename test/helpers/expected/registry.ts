import type { Services } from '../../../sandbox/index.ts';
import type { Release } from '../../../sandbox/platform/workspaces.ts';
import { type Tables, time } from './values.ts';

const target = 'registry';
const HOST = 'registry.terraform.io';
/** The address with dates has no more of a provider, the newest. */
const MAX_DATED = 500;

/** What the registry says of the public products that workspaces use. */
export function registryTables({ platform, registry }: Services): Tables {
  const { workspaces } = platform.state;
  const { providers, modules } = registry.state;
  const used = (pick: (stack: (typeof workspaces)[number]['stack']) => readonly Release[]) =>
    new Set(
      workspaces
        .flatMap(({ stack }) => pick(stack))
        .filter(({ product }) => product.registry === 'public')
        .map(({ product }) => product.source),
    );
  const common = { target, warning: null, published_at: null, deprecated: null, unlisted: false };
  const ofProviders = [...used((stack) => stack.providers)].flatMap((source) => {
    const { versions, withdrawn, warning } = providers.get(source)!;
    return versions.map(({ version, ageDays }, index) => ({
      ...common,
      source: `${HOST}/${source}`,
      version,
      published_at: index < MAX_DATED ? time(new Date(registry.publishedAt(ageDays))) : null,
      warning: warning === '' ? null : warning,
      unlisted: withdrawn.has(version),
    }));
  });
  const ofModules = [...used((stack) => stack.modules)].flatMap((source) =>
    modules.get(source)!.versions.map(({ version, deprecation }) => ({
      ...common,
      source: `${HOST}/${source}`,
      version,
      deprecated: deprecation !== null,
      warning: deprecation?.reason ?? null,
    })),
  );
  return { registry_releases: [...ofProviders, ...ofModules] };
}
