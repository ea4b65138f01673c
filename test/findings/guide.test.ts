import { expect, test } from 'vitest';
import { tellMany } from '../../src/tell/findings/guide.ts';

test.each(['volumes{of} have no snapshot', 'volumes have no snapshot'])(
  'what several findings have in common is printed unchanged: %s',
  (many) => {
    for (const cause of ['ebs', 'R$$D', '$&', "$'"]) expect(tellMany('3', cause, { many })).toContain(cause);
  },
);
