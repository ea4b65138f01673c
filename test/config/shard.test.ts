import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Config, chooseShard, loadConfig, parseShard } from '../../src/config/config.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { tempFolder } from '../helpers/temp.ts';

const COUNT = 4;

async function loadShards(yaml: string, env: Record<string, string> = {}): Promise<readonly Config[]> {
  const file = join(await tempFolder(), 'tidemark.yaml');
  await writeFile(file, yaml);
  const shards = Array.from({ length: COUNT }, (_, index) => ({ index: index + 1, count: COUNT }));
  return shards.map((shard) => loadConfig(file, env, new Redactor(), { shard }));
}

const target = (name: string, rest: string) =>
  `  - {name: ${name}, kind: platform, organization: ${name}, url: https://tfe.example.com, ${rest}}\n`;
const names = (shards: readonly Config[]) => shards.map(({ targets }) => targets.map(({ name }) => name));

describe('shards', () => {
  const many = Array.from({ length: 60 }, (_, index) => target(`org-${index}`, `token: token-of-org-${index}`)).join(
    '',
  );

  test('divide the targets: each is in exactly one, and no shard is empty', async () => {
    const shards = names(await loadShards(`targets:\n${many}`));
    expect(shards.flat().sort()).toEqual(Array.from({ length: 60 }, (_, index) => `org-${index}`).sort());
    expect(shards.every((shard) => shard.length > 5)).toBe(true);
  });

  test('keep targets with the same credential together, because a rate limit belongs to a credential', async () => {
    const shared = Array.from({ length: 10 }, (_, index) => target(`org-${index}`, `token: "\${SHARED}"`)).join('');
    const shards = names(await loadShards(`targets:\n${shared}`, { SHARED: 'a-token' }));
    expect(shards.filter((shard) => shard.length > 0)).toHaveLength(1);
    const named = Array.from({ length: 10 }, (_, index) => target(`o-${index}`, `token: t${index}, credential: one`));
    const together = names(await loadShards(`targets:\n${named.join('')}`));
    expect(together.filter((shard) => shard.length > 0)).toHaveLength(1);
  });

  test('stay the same when a token is replaced', async () => {
    const yaml = `targets:\n${Array.from({ length: 12 }, (_, index) => target(`org-${index}`, `token: "\${T${index}}"`)).join('')}`;
    const tokens = (suffix: string) =>
      Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`T${index}`, `token-${index}-${suffix}`]));
    expect(names(await loadShards(yaml, tokens('old')))).toEqual(names(await loadShards(yaml, tokens('new'))));
  });

  test('have a warehouse and reports of their own', async () => {
    const [first, second] = await loadShards(`targets:\n${many}`);
    expect(first?.data).toMatch(/data\/shards\/1$/u);
    expect(first?.output).toMatch(/out\/shards\/1$/u);
    expect(second?.data).toMatch(/data\/shards\/2$/u);
    expect(first?.shard).toEqual({ index: 1, count: COUNT });
  });

  test('of one more move only to the new one', () => {
    for (let credential = 0; credential < 200; credential++) {
      const [before, after] = [chooseShard(`c${credential}`, 16), chooseShard(`c${credential}`, 17)];
      expect([before, 17]).toContain(after);
    }
  });

  test.each(['0/4', '5/4', '3', '3/', '-1/4', '1/1001', '1.5/4', 'a/b', '1/4/2'])('%s is refused', (text) => {
    expect(() => parseShard(text)).toThrow(`--shard ${text} is not a shard`);
  });
});
