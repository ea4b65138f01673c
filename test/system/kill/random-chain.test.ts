import { test } from 'vitest';
import { spread } from '../../helpers/spread.ts';
import { KILLED, killChain } from './kill-chain.ts';

test('a kill of what writes to the ledger leaves one that the next command continues', () =>
  killChain(spread(KILLED, ['a kill']).flatMap((round) => [...round.values()])));
