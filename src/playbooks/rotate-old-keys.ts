import { z } from 'zod';
import { bodyOf, numberAt } from './answers.ts';
import { simplePlaybook } from './playbook.ts';
import { step } from './step.ts';
import { changed, done, due } from './verdict.ts';

const facts = z.object({ key_name: z.string(), latest_version: z.number(), rotated_at: z.string() });

const rotate = step(facts, {
  operation: 'secrets.keys.rotate',
  params: { name: 'key_name' },
  reads: { key: { operation: 'secrets.keys.read', params: { name: 'key_name' } } },
  see: ({ key }) => (key.found ? { latest_version: numberAt(bodyOf(key), 'data', 'latest_version') } : null),
  judge: (seen, { latest_version }) => {
    if (seen === null) return changed('the key is gone');
    if (seen.latest_version === latest_version) return due;
    return (seen.latest_version ?? 0) > latest_version
      ? done(`it was rotated since: its newest version is ${seen.latest_version}`)
      : changed(`its newest version is ${seen.latest_version ?? 'not told'}`);
  },
  unknowable: true,
});

export const rotateOldKeys = simplePlaybook({
  name: 'rotate-old-keys',
  rule: 'key-rotation-overdue',
  about: 'rotate keys whose newest version is old',
  table: 'keys',
  detail: facts,
  step: rotate,
  summary: ({ detail }) =>
    `rotate key ${detail.key_name}, whose version ${detail.latest_version} is of ${detail.rotated_at.slice(0, 10)}`,
});
