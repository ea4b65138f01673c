import { test } from 'vitest';
import { KILLED, killChain } from '../system/kill/kill-chain.ts';

const KILLS = 200;

test('of 200 kills of what writes to the ledger, each leaves one that the next command continues', () =>
  killChain(Array.from({ length: KILLS }, (_, index) => KILLED[index % KILLED.length]!)));
