import { type Random, words } from '../random.ts';

/** A provider or a module with its versions, oldest first. */
export interface Product {
  readonly name: string;
  readonly source: string;
  readonly registry: 'public' | 'private';
  readonly versions: readonly string[];
}

/** A provider or module in one version, as a workspace uses it. */
export interface Release {
  readonly product: Product;
  readonly version: string;
}

/** Providers and modules of a workspace; one object is shared by all workspaces that use the same. */
interface Stack {
  readonly providers: readonly Release[];
  readonly modules: readonly Release[];
  /** The field `providers` of the explorer: `registry.terraform.io/providers/hashicorp/aws/5.9.0, …`; null for none. */
  readonly providersText: string | null;
  readonly modulesText: string | null;
}

export interface Project {
  readonly id: string;
  readonly name: string;
}

/** Times are milliseconds since 1970. Plain and small, since there may be a million of them. */
export interface Workspace {
  readonly id: string;
  name: string;
  project: Project;
  readonly createdAt: number;
  updatedAt: number;
  runId: string | null;
  runStatus: string | null;
  appliedAt: number | null;
  /** null: not assessed. */
  drifted: boolean | null;
  resourcesDrifted: number;
  resourcesUndrifted: number;
  rumCount: number | null;
  checksPassed: number;
  checksFailed: number;
  checksErrored: number;
  checksUnknown: number;
  stack: Stack;
  /** The tool version configured for the workspace. */
  toolVersion: string | null;
  /** The tool version that wrote the state; null before the first state. */
  stateVersion: string | null;
  repository: string | null;
}

/** Combinations in use on day 0. */
const INITIAL_STACKS = 60;

/** What workspaces can use. */
interface Products {
  readonly providers: readonly Product[];
  readonly modules: readonly Product[];
}

/** All stacks in use, each once: workspaces share them, so that a million workspaces stay small. */
export class Stacks {
  readonly #byText = new Map<string, Stack>();
  readonly #empty: Stack;
  readonly #initial: readonly Stack[];

  constructor(random: Random, { providers, modules }: Products) {
    this.#empty = this.#intern([], []);
    this.#initial = Array.from({ length: INITIAL_STACKS }, () =>
      this.#intern(pickReleases(providers, random.int(1, 4), random), pickReleases(modules, random.int(0, 3), random)),
    );
  }

  pick(random: Random): Stack {
    return random.chance(0.04) ? this.#empty : random.pick(this.#initial);
  }

  /** The same products with one of each kind at its next version, or the stack itself where all are newest. */
  upgrade(stack: Stack, random: Random): Stack {
    return this.#intern(upgradeOne(stack.providers, random), upgradeOne(stack.modules, random));
  }

  #intern(providers: readonly Release[], modules: readonly Release[]): Stack {
    const providersText = formatReleases(
      providers,
      (product) => `${registryHost(product)}/providers/${product.source}`,
    );
    const modulesText = formatReleases(modules, sourceAddress);
    const key = `${providersText}|${modulesText}`;
    const stack = this.#byText.get(key) ?? { providers, modules, providersText, modulesText };
    this.#byText.set(key, stack);
    return stack;
  }
}

function formatReleases(releases: readonly Release[], path: (product: Product) => string): string | null {
  return releases.length === 0
    ? null
    : releases.map(({ product, version }) => `${path(product)}/${version}`).join(', ');
}

function registryHost({ registry }: Pick<Product, 'registry'>): string {
  return registry === 'public' ? 'registry.terraform.io' : 'app.terraform.io';
}

/** The source address with its host: `registry.terraform.io/hashicorp/aws`. */
export function sourceAddress(product: Pick<Product, 'registry' | 'source'>): string {
  return `${registryHost(product)}/${product.source}`;
}

function pickReleases(products: readonly Product[], count: number, random: Random): Release[] {
  const left = [...products];
  const picked: Release[] = [];
  while (picked.length < count) {
    const [product] = left.splice(random.int(0, left.length - 1), 1);
    if (product) picked.push({ product, version: random.pick(product.versions) });
  }
  return picked;
}

function upgradeOne(releases: readonly Release[], random: Random): readonly Release[] {
  const outdated = releases.filter(({ product, version }) => product.versions.at(-1) !== version);
  if (outdated.length === 0) return releases;
  const chosen = random.pick(outdated);
  const next = chosen.product.versions[chosen.product.versions.indexOf(chosen.version) + 1]!;
  return releases.map((release) => (release === chosen ? { product: release.product, version: next } : release));
}

/** Every status of a run that HCP Terraform knows. */
export const LIVE_RUN_STATUSES = words(`
  applied applying apply_queued canceled confirmed cost_estimated cost_estimating discarded errored fetching
  fetching_completed pending planned planned_and_finished planned_and_saved planning plan_queued policy_checked
  policy_checking policy_override policy_soft_failed post_apply_completed post_apply_running
  post_plan_awaiting_decision post_plan_completed post_plan_running pre_apply_completed pre_apply_running
  pre_plan_completed pre_plan_running queuing queuing_apply
`);

/** Gives the runs that did not apply all the statuses of the real product, in turn. */
export function spreadRunStatuses(workspaces: readonly Workspace[]): void {
  const others = LIVE_RUN_STATUSES.filter((status) => status !== 'applied');
  const unapplied = workspaces.filter(({ runStatus }) => runStatus !== null && runStatus !== 'applied');
  for (const [index, workspace] of unapplied.entries()) workspace.runStatus = others[index % others.length]!;
}
