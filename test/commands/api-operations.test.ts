import { describe, expect, it, onTestFinished } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import { operations } from '../../src/services/index.ts';
import { type Cleanup, share } from '../helpers/temp.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { type Case, cases } from './api-cases.ts';
import { runApi } from './api-harness.ts';

const SECRETS_IN_BODIES = /body-secret-\d|query-secret-\d|PRIVATE KEY/u;

describe.each(['spec', 'hashicorp'] as const)('every operation through the command, flavor %s', (flavor) => {
  const start = async (cleanup: Cleanup) => {
    const sandbox = await startTestSandbox({ workspaces: 20, flavor });
    cleanup(() => sandbox.close());
    sandbox.services.scheduler.state.canDetach = true; // every operation is to have its effect
    return sandbox;
  };
  /** Reads leave no trace in it. */
  const forReads = share(start);

  it.each(cases)('$operation', async (listed) => {
    const { operation, words, body, method, path, query, headers, status, outcome } = inFlavor(listed, flavor);
    const onlyReads = ['GET', 'LIST'].includes(method) && !operation.includes('creds');
    const sandbox = await (onlyReads ? forReads() : start(onTestFinished));
    sandbox.log.length = 0;
    const given = words(sandbox);
    const expectedPath = path(sandbox);
    const bodyText = body ? JSON.stringify(body(sandbox)) : '';

    const run = await runApi([operation, ...given, ...(body ? ['--body', bodyText] : [])], {
      config: sandbox.config(),
    });

    expect(run.stderr).toBe('');
    expect(run.exit).toBe(0);
    expect(sandbox.log).toHaveLength(operations.get(operation)?.subjectRead ? 2 : 1);
    const sent = sandbox.log.at(-1);
    expect(sent?.method).toBe(method);
    expect(decodeURIComponent(sent?.path ?? '')).toBe(expectedPath);
    expect(Object.fromEntries(new URLSearchParams(sent?.query))).toEqual(query ?? queryOf(given));
    expect(sent?.headers).toMatchObject({
      ...headers,
      ...tokenOf(operation, sandbox, flavor),
      'cache-control': 'no-cache',
    });
    const expectedBody = flavor === 'hashicorp' && listed.hashicorp?.sends?.(sandbox);
    expect(sent?.body).toBe(expectedBody ? JSON.stringify(expectedBody) : bodyText);
    expect(sent?.status === status || (status === undefined && Math.floor((sent?.status ?? 0) / 100) === 2)).toBe(true);
    expect(outcome(jsonOf(run.stdout), run.stdout, sandbox)).toBe(true);
  });
});

it('every operation has a case in api-cases.ts', () => {
  expect(cases.map(({ operation }) => operation).sort()).toEqual([...operations.keys()].sort());
});

it.each(cases.filter(({ body, words }) => body ?? String(words).includes('secret')))(
  '$operation keeps the secrets it sends out of messages when the service repeats them',
  async ({ operation, words, body }) => {
    const sandbox = await startTestSandbox({
      workspaces: 20,
      faultHook: (ask) => ({ status: 400, body: `${ask.body} ${ask.query.toString()} refused` }),
    });
    const withBody = body ? ['--body', JSON.stringify(body(sandbox))] : [];
    const run = await runApi([operation, ...words(sandbox), ...withBody], { config: sandbox.config() });
    await sandbox.close();
    expect(run.exit).toBe(3);
    expect(run.stderr).toContain('refused');
    expect(run.stderr).not.toMatch(SECRETS_IN_BODIES);
  },
);

/** The real product's mount, and what the case says of it. */
function inFlavor(listed: Case, flavor: 'spec' | 'hashicorp'): Case {
  if (flavor === 'spec') return listed;
  const mounted = (sandbox: RunningSandbox) => listed.path(sandbox).replace(/^\/v1\/mesh\//u, '/v1/consul/');
  return { ...listed, path: mounted, ...listed.hashicorp };
}

function tokenOf(operation: string, sandbox: RunningSandbox, flavor: string): Record<string, string> {
  const { kind, mutates } = operations.get(operation)!;
  if (kind === 'autoscaler' || kind === 'registry') return {};
  const token = sandbox.tokens[kind][mutates ? 'write' : 'read'];
  if (kind !== 'secrets') return { authorization: `Bearer ${token}` };
  return flavor === 'hashicorp' ? { 'x-vault-token': token, 'x-vault-request': 'true' } : { 'x-store-token': token };
}

/** A case that states no query sends what its words say, where they are not part of the path. */
function queryOf(words: readonly string[]): Record<string, string> {
  const inQuery = words.filter((word) => /^(?:plugin_id|snapshot_id)=/u.test(word));
  return Object.fromEntries(inQuery.map((word) => word.split('=') as [string, string]));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // CSV
  }
}
