import { describe, expect, test } from 'vitest';
import { createMailWarehouse, mailConfig } from '../helpers/mail-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';
import { drifting, FIRST, SECOND } from './digest-runs.ts';

describe('size and hostile names', () => {
  const hostile = (index: number) =>
    `${index}<script>alert("1")</script>\u202e${`"'&<`.repeat(40)}${'\u{1f30a}'.repeat(40)}${'x'.repeat(300)}`;

  test('stays under 80 KB for many and long names, and attaches all of them', async () => {
    const warehouse = await createMailWarehouse();
    const many = (from: number) =>
      Array.from({ length: 400 }, (_, index) =>
        drifting(hostile(from + index), { external_id: `ws-${from + index}`, checks_failed: 1 }),
      );
    await warehouse.pull(FIRST, { workspaces: many(0) });
    await warehouse.evaluate(FIRST);
    await warehouse.pull(SECOND, { workspaces: many(200) });
    await warehouse.evaluate(SECOND);
    const { html, text, attachments, subject } = await warehouse.digest(SECOND);
    expect(Buffer.byteLength(html)).toBeLessThan(80_000);
    expect(Buffer.byteLength(html)).toBeGreaterThan(20_000);
    expect(text).toContain('New: 400 (20 of 200 lines)');
    const short = await warehouse.digest(SECOND, { maxHtmlBytes: 40_000 });
    expect(Buffer.byteLength(short.html)).toBeLessThan(40_000);
    expect(short.text).toContain('New: 400 (12 of 200 lines)');
    expect(html).not.toContain('<script>');
    expect(`${html}${text}${subject}`).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/u);
    const csv = attachments.find(({ name }) => name === 'findings.csv');
    expect(csv?.text.match(/^new,/gmu)).toHaveLength(400);
    expect(csv?.text.match(/^open,/gmu)).toHaveLength(400);
  });

  test('attaches the worst findings as far as a mail server takes them, where names are too long for all', async () => {
    const warehouse = await createMailWarehouse();
    const long = (index: number) => drifting(`ws-${index}`, { workspace_name: `${index}${'x'.repeat(100_000)}` });
    await warehouse.pull(FIRST, { workspaces: Array.from({ length: 40 }, (_, index) => long(index)) });
    await warehouse.evaluate(FIRST);
    const { text, attachments } = await warehouse.digest(FIRST);
    const csv = attachments.find(({ name }) => name === 'findings.csv');
    expect(Buffer.byteLength(csv?.text ?? '')).toBeLessThan(4_000_000);
    const rows = csv?.text.match(/^open,/gmu)?.length ?? 0;
    expect(rows).toBeGreaterThan(5);
    expect(text).toContain(`findings.csv with the worst ${rows} of these findings`);
  });

  test('has no line breaks, controls or direction marks in subject and lists, and no formulas in the CSV', async () => {
    const warehouse = await createMailWarehouse(
      mailConfig(await tempFolder(), {
        mail: {
          smtp: 'smtp://127.0.0.1',
          from: 'r@acme.example',
          routes: [{ to: 'o@acme.example', projects: ['pay\u202e\r\nBcc: evil@x.example*', 'core'] }],
        },
      }),
    );
    const names = [
      '=HYPERLINK("http://evil")',
      'a\r\nBcc: evil@x.example',
      '+1',
      'b\u0007\u202e',
      '@x',
      '-2',
      'c',
      'd',
    ];
    const workspaces = Array.from({ length: 24 }, (_, index) => names[index % names.length] ?? '');
    await warehouse.pull(FIRST, {
      workspaces: workspaces.map((name, index) => drifting(`${index}`, { workspace_name: name })),
    });
    await warehouse.evaluate(FIRST);
    const { messages } = await warehouse.compose(FIRST);
    for (const { subject, text, attachments } of messages) {
      expect(subject).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      expect(text).not.toMatch(/^Bcc:/mu);
      expect(attachments[0]?.text).not.toMatch(/(?:^|,)"?[=+@-]/mu);
      expect(attachments[0]?.text).toContain(`'=HYPERLINK`);
    }
    expect(messages).toHaveLength(2);
  });
});
