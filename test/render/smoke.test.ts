import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderReports } from '../../src/render/index.ts';
import { openEstate, workspace } from '../helpers/report-estate.ts';

describe('rendering', () => {
  it('writes every report', async () => {
    const estate = await openEstate();
    await estate.night('2026-11-01T02:15:00Z', { workspaces: [workspace('a', { drifted: true }), workspace('b')] });
    await estate.night('2026-11-02T02:15:00Z', {
      workspaces: [workspace('a'), workspace('b', { drifted: true })],
      agents: 'failed',
    });
    const options = estate.options('2026-11-02T02:15:00Z', { out: '/tmp/out1' });
    const rendered = await renderReports(options);
    expect(rendered.map(({ name }) => name)).toContain('drift');
    expect(await readFile(join(options.out, 'drift.txt'), 'utf8')).toContain('Drift');
  });
});
