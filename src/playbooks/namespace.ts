import { z } from 'zod';

/**
 * The namespace that a volume is asked for in: null for `default`, which the service takes by itself; the documents know no such
 * parameter of reading, deregistering and detaching a volume.
 */
export const askedNamespace = z
  .string()
  .nullable()
  .transform((namespace) => (namespace === 'default' ? null : namespace));
