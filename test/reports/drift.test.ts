import { describe, expect, it } from 'vitest';
import { openEstate, workspace } from '../helpers/report-estate.ts';

const FIRST = '2026-11-01T02:15:00Z';
const SECOND = '2026-11-02T02:15:00Z';

describe('the drift report', () => {
  it('calls NULL unknown, neither drifted nor clean', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, {
      workspaces: [
        workspace('a', { drifted: true, resources_drifted: 3 }),
        workspace('b'),
        workspace('c', { drifted: null, resources_drifted: null }),
      ],
    });
    const { summary } = await estate.data('drift', FIRST);
    expect(summary).toMatchObject({ workspaces: 3, drifted: 1, clean: 1, unknown: 1, resources_drifted: 3 });
  });
});
