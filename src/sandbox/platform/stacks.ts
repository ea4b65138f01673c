import type { Random } from '../prng.ts';
import { MODULES, PROVIDERS, type Product } from './catalogue.ts';
import type { Release, Stack } from './state.ts';

/** Combinations in use on night 0; workspaces share them, so that a million of them stay small. */
const COMBINATIONS = 60;

export interface Stacks {
  any(random: Random): Stack;
  /** The same products with one of them moved to its next version, or the stack itself where all are newest. */
  upgraded(stack: Stack, random: Random): Stack;
}

const cellOf = (releases: readonly Release[], path: (product: Product) => string): string | null =>
  releases.length === 0 ? null : releases.map(({ product, version }) => `${path(product)}/${version}`).join(', ');

const host = ({ registry }: Product): string => (registry === 'public' ? 'registry.terraform.io' : 'app.terraform.io');

function someOf(products: readonly Product[], count: number, random: Random): Release[] {
  const left = [...products];
  const taken: Release[] = [];
  while (taken.length < count) {
    const [product] = left.splice(random.int(0, left.length - 1), 1);
    if (product) taken.push({ product, version: random.pick(product.versions) });
  }
  return taken;
}

function bump(releases: readonly Release[], random: Random): readonly Release[] {
  const behind = releases.filter(({ product, version }) => product.versions.at(-1) !== version);
  if (behind.length === 0) return releases;
  const chosen = random.pick(behind);
  const next = chosen.product.versions[chosen.product.versions.indexOf(chosen.version) + 1]!;
  return releases.map((release) => (release === chosen ? { product: release.product, version: next } : release));
}

export function createStacks(random: Random): Stacks {
  const known = new Map<string, Stack>();
  const intern = (providers: readonly Release[], modules: readonly Release[]): Stack => {
    const providersText = cellOf(providers, (product) => `${host(product)}/providers/${product.source}`);
    const modulesText = cellOf(modules, (product) => `${host(product)}/${product.source}`);
    const key = `${providersText}|${modulesText}`;
    const stack = known.get(key) ?? { providers, modules, providersText, modulesText };
    known.set(key, stack);
    return stack;
  };
  const empty = intern([], []);
  const initial = Array.from({ length: COMBINATIONS }, () =>
    intern(someOf(PROVIDERS, random.int(1, 4), random), someOf(MODULES, random.int(0, 3), random)),
  );
  return {
    any: (chance) => (chance.chance(0.04) ? empty : chance.pick(initial)),
    upgraded: (stack, chance) => intern(bump(stack.providers, chance), bump(stack.modules, chance)),
  };
}
