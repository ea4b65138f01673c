import { z } from 'zod';
import { defineAction, definePlaybook, drifted, ready, satisfied, unknown } from '../define.ts';
import { explainOtherKey, parseKey, readKey } from './lib/secrets.ts';

const inputs = z.object({ key_name: z.string(), latest_version: z.number(), rotated_at: z.string() });

const rotate = defineAction(inputs, {
  operation: 'secrets.keys.rotate',
  params: { name: 'key_name' },
  change: ({ latest_version }) => ({ before: { latest_version }, after: { latest_version: latest_version + 1 } }),
  reads: { key: readKey },
  observe: ({ key }) => {
    const { latest_version, rotated_at } = parseKey(key);
    return key.found ? { latest_version, rotated_at } : null;
  },
  evaluate: (observed, { latest_version, rotated_at }) => {
    if (observed === null) return drifted('the key is gone');
    if (observed.latest_version === null) return unknown('its newest version is not reported');
    if (observed.latest_version === latest_version) return explainOtherKey(rotated_at, observed.rotated_at) ?? ready;
    return observed.latest_version > latest_version
      ? satisfied(`it was rotated since: its newest version is ${observed.latest_version}`)
      : drifted(`its newest version is ${observed.latest_version}`);
  },
});

export const rotateOldKeys = definePlaybook({
  name: 'rotate-old-keys',
  rule: 'key-rotation-overdue',
  description: 'rotate keys whose newest version is older than `keyRotationDays`',
  table: 'keys',
  detail: inputs,
  action: rotate,
  summary: ({ detail }) =>
    `rotate key ${detail.key_name}, whose version ${detail.latest_version} was created on ${detail.rotated_at.slice(0, 10)}`,
});
