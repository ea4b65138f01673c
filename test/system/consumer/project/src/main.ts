import { createTidemark, ServiceError, TidemarkError } from 'tidemark';
import { deleteSilentAgents } from './delete-silent-agents.js';
import { policyNames } from './policy-names.js';

/** Uses every part of the library on the configuration that the command line names, and prints what it found. */
const [config = 'tidemark.yaml', now = ''] = process.argv.slice(2);
const tidemark = await createTidemark({
  config,
  sources: [policyNames],
  playbooks: [deleteSilentAgents],
  now: new Date(now),
});

const { status, pulls, playbooks } = await tidemark.run('silent-agents');
const failed = pulls.filter((pull) => pull.status !== 'complete').map(({ source, error }) => ({ source, error }));
const names = await tidemark.query('select name from policy_names where name <> $except order by name', {
  except: 'anonymous',
});

const acme = tidemark.client('acme');
const agents: { id: string; status: string }[] = [];
for await (const pool of acme.agentPools.list()) {
  for await (const { id, attributes } of acme.agents.list({ agentPoolId: pool.id })) {
    agents.push({ id, status: attributes.status });
  }
}
const health = await tidemark.client('scaler').health.read();
const missing = await acme.agents.show({ id: 'agent-none' }).catch((error: unknown) => {
  if (error instanceof ServiceError) return error.status;
  throw error;
});
const usage = await createTidemark({ config: 'none.yaml' }).catch((error: unknown) => {
  if (error instanceof TidemarkError) return error.code;
  throw error;
});
await tidemark.close();

process.stdout.write(JSON.stringify({ status, failed, playbooks, names, agents, health, missing, usage }));
