import { expect, test } from 'vitest';
import { hasSameMembers } from '../../src/core/json-path.ts';

test('the order of lists does not matter, and a member with a line break is not two of them', () => {
  expect(hasSameMembers(['ws-1', 'ws-2'], ['ws-2', 'ws-1'])).toBe(true);
  expect(hasSameMembers(['ws-1', 'ws-1'], ['ws-1', 'ws-2'])).toBe(false);
  expect(hasSameMembers(['ws-1\nws-2', 'ws-3'], ['ws-1', 'ws-2\nws-3'])).toBe(false);
});
