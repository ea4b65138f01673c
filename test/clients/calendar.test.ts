import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { renderReports } from '../../src/tell/reports/index.ts';
import { createReportWarehouse } from '../helpers/report-warehouse.ts';
import { hasTool, INSTALL_MS, installPython } from './install.ts';

const execute = promisify(execFile);
const hasPython = hasTool('python3', '--version', 'deadlines.ics is not read with icalendar');

const READ = `
import icalendar, json, sys
calendar = icalendar.Calendar.from_ical(open(sys.argv[1], 'rb').read())
events = calendar.walk('VEVENT')
print(json.dumps({
  'errors': [str(error) for part in calendar.walk() for error in part.errors],
  'events': [[str(event['SUMMARY']), event['DTSTART'].dt.isoformat(), str(event['DESCRIPTION'])] for event in events],
  'uids': len(set(str(event['UID']) for event in events)),
}))`;

const AS_OF = '2026-11-20T02:15:00Z';
const NAMES = ['a;b,c\\d', 'x\r\nEND:VEVENT\r\nBEGIN:VEVENT', '漢字😀'.repeat(40), '"quoted": <b>', '\\n', 'p\u2028q'];

describe.skipIf(!hasPython)('icalendar', () => {
  test('reads deadlines.ics: every event once, with its name and its end', { timeout: INSTALL_MS }, async () => {
    const python = join(await installPython('calendar/requirements.txt'), 'python');
    const warehouse = await createReportWarehouse();
    const ca_roots = NAMES.map((name, index) => ({
      root_id: `r${index}`,
      name,
      active: true,
      not_after: `2026-12-0${index + 1}T01:02:03Z`,
    }));
    await warehouse.pull(AS_OF, { ca_roots });
    await renderReports({ ...warehouse.options(AS_OF), names: ['deadlines'] });
    const { stdout } = await execute(python, ['-c', READ, join(warehouse.directory, 'out', 'deadlines.ics')]);
    const shown = (name: string) => `CA root ${name.replaceAll(/\r\n|\u2028/gu, '\n')} ends (acme)`;
    expect(JSON.parse(stdout)).toEqual({
      errors: [],
      events: NAMES.map((name, index) => [
        shown(name),
        `2026-12-0${index + 1}T01:02:03+00:00`,
        'rotate the root in the mesh',
      ]),
      uids: NAMES.length,
    });
  });
});
