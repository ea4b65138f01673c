import { createRandom, type Random } from '../prng.ts';
import type { Request, Resource, Response, Route, ServiceOptions } from '../types.ts';
import { type AgentPoolRecord, refuseUnknown } from './agent-pool-body.ts';
import { documentResponse, invalid, isJsonObject, type JsonObject, notFound, parseData } from './json-api.ts';

interface AgentTokenRecord {
  readonly id: string;
  readonly poolId: string;
  readonly description: string;
  readonly createdAt: number;
}

/** The tokens with which agents register in a pool, with the flavor of the real products. */
export class AgentTokens implements Resource {
  readonly #isHashicorp: boolean;
  readonly #records: AgentTokenRecord[] = [];
  readonly #pools: readonly AgentPoolRecord[];
  readonly #random: Random;

  constructor({ seed, flavor }: ServiceOptions, pools: readonly AgentPoolRecord[]) {
    this.#isHashicorp = flavor === 'hashicorp';
    this.#pools = pools;
    this.#random = createRandom(`${seed}/platform/agent-tokens`);
  }

  get routes(): readonly Route[] {
    if (!this.#isHashicorp) return [];
    const ofPool = '/agent-pools/:id/authentication-tokens';
    const one = '/authentication-tokens/:id';
    return [
      { method: 'GET', path: ofPool, handle: (request) => this.#list(request) },
      { method: 'POST', path: ofPool, writes: true, handle: (request) => this.#create(request) },
      { method: 'GET', path: one, handle: (request) => documentResponse(200, { data: document(this.#find(request)) }) },
      { method: 'DELETE', path: one, writes: true, handle: (request) => this.#delete(request) },
    ];
  }

  #list({ params }: Request): Response {
    this.#checkPool(params.id!);
    const found = this.#records.filter(({ poolId }) => poolId === params.id);
    return documentResponse(200, { data: found.map((token) => document(token)) });
  }

  /** Only this response has the token. */
  #create(request: Request): Response {
    this.#checkPool(request.params.id!);
    const { type, attributes } = parseData(request);
    // The platform accepts both; its own Go client sends the second one.
    if (type !== 'authentication-tokens' && type !== 'agent-tokens') {
      throw invalid('type must be authentication-tokens', '/data/type');
    }
    if (!isJsonObject(attributes)) throw invalid('must be an object', '/data/attributes');
    refuseUnknown(attributes, ['description'], '/data/attributes');
    if (typeof attributes.description !== 'string') throw invalid('is required', '/data/attributes/description');
    const token = {
      id: this.#random.id('at-', 16),
      poolId: request.params.id!,
      description: attributes.description,
      createdAt: request.now.getTime(),
    };
    this.#records.push(token);
    return documentResponse(201, {
      data: document(token, `${this.#random.id('', 14)}.atlasv1.${this.#random.id('', 60)}`),
    });
  }

  #delete(request: Request): Response {
    this.#records.splice(this.#records.indexOf(this.#find(request)), 1);
    return { status: 204 };
  }

  #find({ params }: Request): AgentTokenRecord {
    const token = this.#records.find(({ id }) => id === params.id);
    if (!token) throw notFound();
    return token;
  }

  #checkPool(id: string): void {
    if (!this.#pools.some((pool) => pool.id === id)) throw notFound();
  }
}

function document({ id, description, createdAt }: AgentTokenRecord, token: string | null = null): JsonObject {
  return {
    id,
    type: 'authentication-tokens',
    attributes: {
      'created-at': new Date(createdAt).toISOString(),
      'last-used-at': null,
      description,
      token,
      'expired-at': null,
    },
    relationships: { 'created-by': { data: { id: 'user-sandbox', type: 'users' } } },
  };
}
