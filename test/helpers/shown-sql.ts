import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';

import { loadConfig } from '../../src/config/config.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { hasClass, parseElements } from './html.ts';
import { QueryProcess } from './kept-query-process.ts';
import type { TestProject } from './test-project.ts';

/** Runs the SQL below every table of a page as a reader would copy it, and expects the rows of the report's JSON. Returns their number. */
export async function compareShownSql(project: TestProject, report: string): Promise<number> {
  const out = (name: string) => readFile(join(project.folder, 'out', name), 'utf8');
  const data = JSON.parse(await out(`${report}.json`)) as Record<string, unknown>;
  const elements = parseElements(await out(`${report}.html`));
  const details = elements.filter((element) => element.tag === 'details' && hasClass(element, 'sql'));
  const shown = details.flatMap(({ attributes, descendants }) => {
    const code = descendants.find(({ tag }) => tag === 'code');
    const dataset = attributes['data-dataset'] ?? 'summary';
    return code && dataset !== 'summary' ? [{ dataset, sql: code.text }] : [];
  });
  const {
    data: folder,
    directory,
    sql: limits,
  } = loadConfig(join(project.folder, 'tidemark.yaml'), {}, new Redactor());
  const config = { data: folder, directory, sql: limits };
  const queries = new QueryProcess(config, process.env);
  try {
    for (const { dataset, sql } of shown) {
      let json = '';
      const text = async (part: string) => {
        json += part;
      };
      await queries.run({ config, query: sql, params: {}, format: 'json' }, text, new AbortController().signal);
      expect(JSON.parse(json), `${report}.${dataset}`).toEqual(data[dataset]);
    }
  } finally {
    await queries.close();
  }
  return shown.length;
}
