import { createTidemark } from 'tidemark';
import { deleteSilentAgents } from './delete-silent-agents.js';
import { policyNames } from './policy-names.js';

const tidemark = await createTidemark({
  config: 'tidemark.yaml',
  sources: [policyNames],
  playbooks: [deleteSilentAgents],
});
const { status, pulls } = await tidemark.run('nightly');
const silent = await tidemark.query('select name from agents where status = $status', { status: 'unknown' });
for await (const pool of tidemark.client('acme').agentPools.list()) console.log(pool.id, pool.attributes.name);
await tidemark.close();
console.log(status, pulls.length, silent.length);
