import type { EcKey } from '../pki/keys.ts';

/** Who signs certificates. */
export interface Issuer {
  readonly name: string;
  readonly key: EcKey;
}

/** What the resources of one mesh share. */
export class MeshContext {
  readonly trustDomain: string;
  /** The active root. */
  issuer: Issuer | undefined;
  #index = 40;

  constructor(trustDomain: string) {
    this.trustDomain = trustDomain;
  }

  /** The next modification index. */
  advanceIndex(by = 1): number {
    this.#index += by;
    return this.#index;
  }
}
