import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import type { KeyRecord, SecretsContext } from '../../sandbox/secrets/context.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { collectDays, missingFrom } from './collect-days.ts';

const DAY_MS = 86_400_000;
let sandbox: RunningSandbox;
const state = (): SecretsContext => sandbox.services.secrets.state;

const namesOf = <T>(things: Map<string, T>, fits: (thing: T) => boolean): Set<string> =>
  new Set([...things].filter(([, thing]) => fits(thing)).map(([name]) => name));

const ageDays = ({ versions }: KeyRecord): number =>
  (sandbox.now.getTime() - Date.parse(versions.at(-1)!.creationTime)) / DAY_MS;
const enabled = ({ versions, minEnabledVersion }: KeyRecord): number =>
  versions.length - Math.max(0, minEnabledVersion - 1);

/** What each rule of surface.md that reads this service would find tonight. */
const RULES: Readonly<Record<string, () => Set<string>>> = {
  'key-rotation-overdue': () => namesOf(state().keys, (key) => ageDays(key) > 90),
  'old-key-version-enabled': () => namesOf(state().keys, (key) => enabled(key) > 3),
  'retired-key': () => namesOf(state().keys, (key) => key.deletionAllowed),
  'empty-kms-provider': () => namesOf(state().providers, ({ keys }) => keys.size === 0),
  'management-role': () => namesOf(state().roles, ({ tokenType }) => tokenType === 'management'),
};

beforeEach(async () => {
  sandbox = await startTestSandbox();
});
afterEach(() => sandbox.close());

test.each(Object.entries(RULES))('%s has findings on most days, new ones, and some that end', (_rule, find) => {
  const days = collectDays(sandbox, 14, find);
  expect(days.filter(({ size }) => size > 0).length).toBeGreaterThan(10);
  expect(days.slice(1).some((found, day) => missingFrom(found, days[day]!).length > 0)).toBe(true);
  expect(days.slice(1).some((found, day) => missingFrom(days[day]!, found).length > 0)).toBe(true);
});

test('some retired keys are held by a provider and some are not', () => {
  const held = (name: string): boolean => [...state().providers.values()].some(({ keys }) => keys.has(name));
  const retired = [...RULES['retired-key']!()];
  expect(retired.some(held)).toBe(true);
  expect(retired.every(held)).toBe(false);
});

test('few records disappear in a day', () => {
  for (const things of [() => state().keys, () => state().roles, () => state().providers]) {
    const days = collectDays(sandbox, 14, () => new Set(things().keys()));
    for (const [day, found] of days.slice(1).entries()) {
      expect(missingFrom(days[day]!, found).length / found.size).toBeLessThanOrEqual(0.1);
    }
  }
});

test('a key is held by one provider at most, on every day', () => {
  for (let day = 0; day < 28; day++) {
    const held = [...state().providers.values()].flatMap(({ keys }) => [...keys.keys()]);
    expect(new Set(held).size).toBe(held.length);
    for (const name of held) expect(state().keys.has(name)).toBe(true);
    sandbox.tick();
  }
});

test('a larger scale has more keys and roles, a smaller one the same number', async () => {
  const [small, large] = [await startTestSandbox({ workspaces: 10 }), await startTestSandbox({ workspaces: 240 * 9 })];
  expect(small.services.secrets.state.keys.size).toBe(state().keys.size);
  expect(large.services.secrets.state.keys.size).toBe(75);
  expect(large.services.secrets.state.roles.size).toBe(30);
  await Promise.all([small.close(), large.close()]);
});
