export interface Root {
  readonly id: string;
  readonly name: string;
  readonly serialNumber: bigint;
  readonly signingKeyId: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly rootCert: string;
  readonly privateKeyType: string;
  readonly privateKeyBits: number;
  readonly intermediates: readonly string[] | null;
  active: boolean;
  readonly createIndex: number;
  modifyIndex: number;
}

export interface Leaf {
  readonly service: string;
  readonly serialNumber: string;
  readonly certPem: string;
  /** Planted: it must go nowhere. */
  readonly privateKeyPem: string;
  readonly validAfter: Date;
  readonly validBefore: Date;
  readonly index: number;
}

export interface Intention {
  readonly id: string;
  readonly namespace: string;
  /** `*` stands for any service. */
  readonly source: string;
  readonly destination: string;
  readonly action: 'allow' | 'deny';
  /** With layer 7 permissions, which authorize takes for a denial (mesh rule 1). */
  readonly permissions: boolean;
  readonly precedence: number;
}

export interface MeshState {
  readonly trustDomain: string;
  roots: Root[];
  /** The certificates that the agent holds, by namespace and service. */
  leaves: Map<string, Leaf>;
  /** Highest precedence first. */
  intentions: Intention[];
  /** The last certificate's number: it only grows. */
  serial: bigint;
  index: number;
}
