import { test } from 'vitest';
import { expectNoLieMatters, LIED_TO, LIES } from '../system/faults/tell-lies.ts';

test.concurrent.for(LIED_TO)('$playbook: none of all lies doubles, loses or misattributes an action', (to, context) =>
  expectNoLieMatters(to, LIES, context.onTestFinished),
);
