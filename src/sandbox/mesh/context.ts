/** What the resources of one mesh share. */
export class MeshContext {
  readonly trustDomain: string;
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
