import { expect, test } from 'vitest';
import { formatMarkdown } from '../../src/cli/diff-text.ts';

test('a name with more backticks than a call takes arguments is a code span', async () => {
  const name = '`a'.repeat(150_000);
  const row = {
    table: 't',
    target: 'acme',
    key: 'k',
    change: 'gone',
    name,
    action: null,
    column: null,
    old: null,
    new: null,
  };
  const times = { from: new Date(0), to: new Date(1) };
  let text = '';
  for await (const part of formatMarkdown({ ...times, tables: [], counts: [], rows: [row], gaps: [] })) text += part;
  expect(text.includes(`\`\` ${name} (k) \`\``)).toBe(true);
});
