import { jsonResponse } from '../responses.ts';
import type { Flavor, Request, Resource, Response, Route } from '../types.ts';
import type { MeshAccess } from './access.ts';

/** The services that are registered, with the flavor of the real products: the catalog and the agent's own. */
export class Catalog implements Resource {
  readonly #flavor: Flavor;
  readonly #access: MeshAccess;
  readonly #services: readonly string[];

  constructor(flavor: Flavor, access: MeshAccess, services: readonly string[]) {
    this.#flavor = flavor;
    this.#access = access;
    this.#services = services;
  }

  get routes(): readonly Route[] {
    if (this.#flavor === 'spec') return [];
    return [
      { method: 'GET', path: '/catalog/services', handle: (request) => this.#listCatalog(request) },
      { method: 'GET', path: '/agent/services', handle: (request) => this.#listAgent(request) },
    ];
  }

  /** The tags of each service by its name. */
  #listCatalog(request: Request): Response {
    const seen = this.#seen(request);
    const headers = {
      'x-consul-index': '40',
      'x-consul-knownleader': 'true',
      'x-consul-lastcontact': '0',
      ...(seen.length < this.#services.length ? { 'x-consul-results-filtered-by-acls': 'true' } : {}),
    };
    return jsonResponse(Object.fromEntries([['consul', []], ...seen.map((name) => [name, []])]), headers);
  }

  #listAgent(request: Request): Response {
    const entries = this.#seen(request).map((name) => {
      return [
        name,
        { ID: name, Service: name, Tags: [], Meta: {}, Port: 8080, Address: '', Datacenter: 'dc1' },
      ] as const;
    });
    return jsonResponse(Object.fromEntries(entries));
  }

  #seen(request: Request): readonly string[] {
    return this.#services.filter((name) => this.#access.seesService(request, name));
  }
}
