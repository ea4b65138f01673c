import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { copyServedProject, queryPath, type Served, startServe } from '../../helpers/served.ts';

const PATHS = [
  '/',
  '/tables/agents',
  '/saved/agents-by-pool',
  '/reports/index.html',
  queryPath('from workspaces'),
  queryPath('from agents', 'json'),
];

/** Sends requests of `clients` at once to a server with three workers, and again where it asks to wait. All are answered. */
export async function answerClients(clients: number, running?: Served): Promise<void> {
  const server = running ?? (await startServe(await copyServedProject(), ['--workers', '3']));
  const answers = await Promise.all(
    Array.from({ length: clients }, async (_, index) => {
      const path = PATHS[index % PATHS.length] as string;
      for (;;) {
        const answer = await server.get(path, { accept: 'text/html' });
        if (answer.status !== 503) return { path, status: answer.status };
        expect(answer.headers['retry-after']).toBe('5');
        await sleep(500);
      }
    }),
  );
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  expect(server.process.exitCode).toBeNull();
  expect(server.workers().length).toBeLessThanOrEqual(4);
}
