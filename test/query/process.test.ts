import { join } from 'node:path';
import { expect, test } from 'vitest';
import { QueryProcess } from '../../src/ask/query/query-process.ts';
import { loadConfig } from '../../src/config/config.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { emptyProject, publishWarehouse } from '../helpers/findings-command.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

const atEnd = cleanAtEnd();

test('a query is answered although it comes before a process that was killed has ended', async () => {
  const folder = await emptyProject(atEnd);
  await publishWarehouse(folder, atEnd, async (warehouse) => {
    await warehouse.pull('2026-11-18T02:15:00Z', 'acme', 'workspaces', { workspaces: [] });
  });
  const { data, directory, sql } = loadConfig(join(folder, 'tidemark.yaml'), {}, new Redactor(), {
    needsSecrets: false,
  });
  const request = { config: { data, directory, sql }, query: 'select 1 as one', params: {}, format: 'csv' } as const;
  const queries = new QueryProcess(request.config, process.env);
  atEnd(() => queries.close());
  const ask = async () => {
    const parts: string[] = [];
    await queries.run(request, async (part) => void parts.push(part), new AbortController().signal);
    return parts.join('');
  };
  expect(await ask()).toBe('one\n1\n');
  const first = queries.pid;
  queries.kill(new Error('its reader left'));
  expect(await ask()).toBe('one\n1\n');
  expect(queries.pid).not.toBe(first);
});
