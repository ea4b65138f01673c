import { definePlugin } from 'tidemark';
import { deleteSilentAgents } from './delete-silent-agents.js';
import { policyNames } from './policy-names.js';

export default definePlugin({ sources: [policyNames], playbooks: [deleteSilentAgents] });
