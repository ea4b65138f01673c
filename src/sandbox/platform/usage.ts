import { createRandom } from '../prng.ts';
import type { PlatformState, Release, Workspace } from './state.ts';

/** A row of the views `tf_versions`, `providers` and `modules`: a thing in one version, and who uses it. */
export interface Usage {
  readonly id: string;
  readonly name: string;
  readonly source: string;
  readonly version: string;
  readonly registry: 'public' | 'private';
  readonly workspaceNames: string[];
}

type Identity = Omit<Usage, 'id' | 'workspaceNames'>;

const TOOL = { name: 'terraform', source: '', registry: 'public' } as const;

/** Collects users by identity; ids depend on the identity alone, so they hold from night to night. */
function collect(
  idPrefix: string,
  workspaces: readonly Workspace[],
  used: (row: Workspace) => readonly Identity[],
): Usage[] {
  const rows = new Map<string, Usage>();
  for (const workspace of workspaces) {
    for (const { name, source, version, registry } of used(workspace)) {
      const key = `${source}\n${name}\n${version}`;
      let row = rows.get(key);
      if (!row) {
        const id = createRandom(`${idPrefix}${key}`).id(idPrefix, 16);
        row = { id, name, source, version, registry, workspaceNames: [] };
        rows.set(key, row);
      }
      row.workspaceNames.push(workspace.name);
    }
  }
  return [...rows.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

const identities = new WeakMap<readonly Release[], readonly Identity[]>();

/** Stacks are shared by many workspaces: their identities are made once. */
function identitiesOf(releases: readonly Release[]): readonly Identity[] {
  let known = identities.get(releases);
  if (!known) {
    known = releases.map(({ product: { name, source, registry }, version }) => ({ name, source, registry, version }));
    identities.set(releases, known);
  }
  return known;
}

export const toolUsage = ({ workspaces }: PlatformState): Usage[] =>
  collect('tfv-', workspaces, ({ toolVersion }) => (toolVersion === null ? [] : [{ ...TOOL, version: toolVersion }]));

export const providerUsage = ({ workspaces }: PlatformState): Usage[] =>
  collect('prov-', workspaces, ({ stack }) => identitiesOf(stack.providers));

export const moduleUsage = ({ workspaces }: PlatformState): Usage[] =>
  collect('mod-', workspaces, ({ stack }) => identitiesOf(stack.modules));
