import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { createLog } from '../../src/core/log.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { landingDirectory } from '../../src/landing/store.ts';
import { LandingPacker } from '../../src/pipeline/packer.ts';
import { landLines } from '../helpers/landings.ts';
import { tempFolder } from '../helpers/temp.ts';

const RUN = '20261101T021500Z';

test('a landing that cannot be packed is tried again at the end of the run, which warns once', async () => {
  const config = { data: join(await tempFolder(), 'data') } as Config;
  for (const target of ['acme', 'vault']) await landLines(config, { runId: RUN, target, source: 'keys' }, [{ id: 1 }]);
  const directory = landingDirectory(config, RUN, 'acme');
  const [file, aside] = [join(directory, 'keys.ndjson'), join(directory, 'aside')];
  await rename(file, aside);
  await mkdir(file);
  const lines: string[] = [];
  const log = createLog({ write: (text) => lines.push(text), redactor: new Redactor(), quiet: false });
  const packer = new LandingPacker(config, { log, signal: new AbortController().signal });
  packer.add(RUN, 'acme');
  packer.add(RUN, 'vault');
  await packer.settle();
  expect(await readdir(landingDirectory(config, RUN, 'vault'))).toEqual(['landing.tar']);
  expect(lines).toEqual([]);
  await packer.finish();
  expect(lines).toEqual([expect.stringMatching(/the landing .*acme stays unpacked: .*EISDIR/u)]);
  await rm(file, { recursive: true });
  await rename(aside, file);
  await packer.finish();
  expect(await readdir(directory)).toEqual(['landing.tar']);
  expect(lines).toHaveLength(1);
});
