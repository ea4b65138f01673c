import { test } from 'vitest';
import { PLAYBOOKS } from '../system/faults/playbooks.ts';
import { expectNoLieMatters, LIES } from '../system/faults/tell-lies.ts';

test.concurrent.for(PLAYBOOKS)('$playbook: none of all lies doubles, loses or misattributes an action', (to, context) =>
  expectNoLieMatters(to, LIES, context.onTestFinished),
);
