import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hasClass, parseElements } from '../helpers/html.ts';
import { findTarget, testProject } from '../helpers/test-project.ts';
import { writeJob } from '../mail/mail-project.ts';

test('a service that is down is one line of the banner, and each of its sources has its reason in the list', async () => {
  const place = await testProject({ workspaces: 2 });
  await writeJob(place, { pull: ['ca_roots', 'leaf_certificates'], reports: ['certificates'] });
  await place.configure((config) => {
    const consul = findTarget(config, 'consul');
    consul.url = 'http://127.0.0.1:9';
    config.targets = [consul];
  });
  await place.tidemark(['run', 'nightly']);
  const text = await readFile(join(place.folder, 'out/certificates.txt'), 'utf8');
  expect(text.match(/^STALE: .*$/gmu)).toEqual([
    expect.stringMatching(
      /^STALE: consul: ca_roots, leaf_certificates: never pulled completely; last pull failed: .*; …$/u,
    ),
  ]);
  const elements = parseElements(await readFile(join(place.folder, 'out/certificates.html'), 'utf8'));
  const banner = elements.find((element) => hasClass(element, 'banner'))?.text ?? '';
  expect(banner.match(/last pull failed/gu)).toHaveLength(1);
  expect(banner).toContain(
    'consul: ca_roots, leaf_certificates — never pulled completely; last pull failed: mesh.ca-roots',
  );
  expect(banner).toContain('the list of sources has the messages of the others');
  const rows = elements.filter(({ tag }) => tag === 'tr').map(({ text }) => text);
  expect(rows).toContainEqual(
    expect.stringMatching(/^leaf_certificates.*consul.*failed.*mesh\.ca-leaf\.read at consul/su),
  );
  const [run] = await place.rows('select run_id from runs');
  const page = parseElements(await readFile(join(place.folder, `out/runs/${run?.run_id}.html`), 'utf8'));
  const rules = page.filter(({ tag, text }) => tag === 'td' && /^leaf-/u.test(text)).map(({ text }) => text);
  expect(rules).toEqual(['leaf-expiring', 'leaf-from-old-root, signer-not-shown, weak-certificate-key']);
});
