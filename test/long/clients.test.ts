import { test } from 'vitest';
import { answerClients } from '../system/serve/answer-clients.ts';

test('300 clients at once are all answered, or asked to wait', () => answerClients(300));
