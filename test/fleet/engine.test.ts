import { describe, expect, test } from 'vitest';
import { parseEngineAddress } from '../../src/fleet/engine.ts';

describe('the address of an engine', () => {
  test('names the server, the user, and where the tables are', () => {
    expect(parseEngineAddress('clickhouse://reader@ch.example.com:8123/lake')).toEqual({
      engine: 'clickhouse',
      server: 'http://ch.example.com:8123',
      user: 'reader',
      path: ['lake'],
    });
    expect(parseEngineAddress('trino+https://trino.example.com:8443/delta/tidemark')).toEqual({
      engine: 'trino',
      server: 'https://trino.example.com:8443',
      user: 'tidemark',
      path: ['delta', 'tidemark'],
    });
  });

  test.each([
    ['spark://host/x', /is not an engine/u],
    ['clickhouse', /is not an engine/u],
    ['clickhouse://host', /does not name its database/u],
    ['clickhouse://host/a/b', /does not name its database/u],
    ['trino://host/catalog', /does not name its catalog and its schema/u],
    ['trino://host/catalog/schema?user=x', /does not name its catalog and its schema/u],
    ['clickhouse://user:hunter2@host/db', /has a password/u],
    ['clickhouse+http2://user:hunter2@host/db', /is not an engine/u],
  ])('%s is refused, and shows no password', (text, message) => {
    const parse = () => parseEngineAddress(text);
    expect(parse).toThrow(message);
    expect(parse).not.toThrow(/hunter2/u);
  });
});
