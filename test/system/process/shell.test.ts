import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { buildCommand } from '../../helpers/built-command.ts';
import { cleanAtEnd } from '../../helpers/temp.ts';
import { noTerminal, runInTerminal } from '../../helpers/terminal.ts';
import { type TestProject, testProject } from '../../helpers/test-project.ts';

const atEnd = cleanAtEnd();
const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const PROMPT = 'tidemark> ';

let place: TestProject;
let command: string;
let state: string;

beforeAll(async () => {
  command = await buildCommand();
  place = await testProject({ workspaces: 10, cleanup: atEnd });
  await place.pull(['--source', 'agents']);
  state = join(place.folder, 'state');
  await mkdir(state);
});

/** Types each text at the prompt, and leaves the shell. Waits are for the text that the previous step makes the shell print. */
async function type(...steps: (readonly [wait: string, type: string])[]) {
  const all = [...steps, [PROMPT, CTRL_D] as const];
  return runInTerminal(command, ['sql'], all, { cwd: place.folder, env: { XDG_STATE_HOME: state } });
}

if (noTerminal !== undefined) console.log(`the shell is not tested in a terminal: ${noTerminal}`);

describe.skipIf(noTerminal !== undefined)('the shell', () => {
  test('runs a statement that spans lines, and completes names', async () => {
    const { exit, shown } = await type(
      [PROMPT, 'select count(*) as n\r'],
      ['...> ', 'from agents_h'],
      ['agents_h', '\t'],
      ['istory', ' where true;\r'],
    );
    expect(exit).toBe(0);
    expect(shown).toMatch(/\bn\r\n\s*\d+\r\n\(1 row\)/u);
  });

  test('has commands for tables, modes, time and saved queries', async () => {
    const { shown } = await type(
      [PROMPT, '.help\r'],
      [PROMPT, '.schema agents\r'],
      [PROMPT, '.mode csv\r'],
      [PROMPT, "select 'a,b' as text, null as none;\r"],
      [PROMPT, '.mode line\r'],
      [PROMPT, 'select 1 as one;\r'],
      [PROMPT, '.timer on\r'],
      [PROMPT, '.as_of 2020-01-01\r'],
      [PROMPT, '.as_of  now\r'],
      [PROMPT, 'select count(*) as n from agents;\r'],
      [PROMPT, '.saved\r'],
      [PROMPT, '.saved idle-workspaces days=soon\r'],
      [PROMPT, '.nonsense\r'],
    );
    expect(shown).toContain('.as_of MOMENT|now');
    expect(shown).toContain('agents_history adds valid_from');
    expect(shown).toContain('text,none\r\n"a,b",\r\n');
    expect(shown).toContain('one = 1\r\n');
    expect(shown).toMatch(/n = [1-9]\d*\r\n\d\.\d{3} s/u);
    expect(shown).toContain('idle-workspaces');
    expect(shown).toContain('is before the first pull');
    expect(shown).toContain('days=soon is not a whole number');
    expect(shown).toContain('unknown command .nonsense');
  });

  test('Ctrl-C stops a query, or discards what was typed, and the shell goes on', async () => {
    const { exit, shown } = await type(
      [PROMPT, 'select count(*) from range(3000000000) a, range(3000) b;\r'],
      ['range(3000) b;\r', CTRL_C],
      [PROMPT, 'select never'],
      ['never', CTRL_C],
      [PROMPT, 'select 40 + 2 as answer;\r'],
    );
    expect(exit).toBe(0);
    expect(shown).toMatch(/answer\r\n\s+42\r\n/u);
    expect(shown).not.toContain('never;');
  });

  test('takes what is typed before the first prompt, and ends where its moment is refused', async () => {
    const start = (moment: string) =>
      runInTerminal(command, ['sql', '--as-of', moment], [['with a semicolon.', 'select 40 + 2 as answer;\r.quit\r']], {
        cwd: place.folder,
        env: { XDG_STATE_HOME: state },
      });
    const { exit, shown } = await start('today');
    expect([exit, shown]).toEqual([0, expect.stringMatching(/answer\r\n\s+42\r\n/u)]);
    const refused = await start('2020-01-01');
    expect([refused.exit, refused.shown]).toEqual([2, expect.stringContaining('is before the first pull')]);
  });

  test('an error is one message, and the shell goes on', async () => {
    const { shown } = await type(
      [PROMPT, 'selec 1;\r'],
      [PROMPT, "from read_text('/etc/passwd');\r"],
      [PROMPT, 'select 7 as seven;\r'],
    );
    expect(shown).toContain('error: the query failed: Parser Error: syntax error at or near "selec"');
    expect(shown).not.toContain('root:');
    expect(shown).toMatch(/seven\r\n\s+7\r\n/u);
  });

  test('keeps its history, readable for its owner alone', async () => {
    await type([PROMPT, 'select 99 as kept;\r']);
    expect(await readFile(join(state, 'tidemark', 'history'), 'utf8')).toContain('select 99 as kept;');
    const { shown } = await type([PROMPT, '\u001b[A'], ['select 99 as kept;', '\r']);
    expect(shown).toMatch(/kept\r\n\s+99\r\n/u);
  });

  test('goes on where its history can be neither read nor written, and says so', async () => {
    await writeFile(join(place.folder, 'no-folder'), '');
    const env = { XDG_STATE_HOME: join(place.folder, 'no-folder') };
    const keys = [
      [PROMPT, 'select 7 as seven;\r'],
      [PROMPT, CTRL_D],
    ] as const;
    const { shown, exit } = await runInTerminal(command, ['sql'], keys, { cwd: place.folder, env });
    expect(shown).toMatch(/seven\r\n\s+7\r\n/u);
    expect(shown).toMatch(/warning: the history is not kept: .*no-folder/u);
    expect(exit).toBe(0);
  });
});
