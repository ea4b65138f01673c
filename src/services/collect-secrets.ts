import type { Redactor } from '../core/redact/redactor.ts';
import { isSecretField } from '../core/redact/secret-fields.ts';
import type { Args, Operation } from './operation.ts';

/** Makes the redactor mask the secrets of a request. The service may repeat them in its error messages. */
export function collectSecrets(operation: Operation, args: Args, body: unknown, redactor: Redactor): void {
  for (const [name, param] of Object.entries(operation.params)) {
    if (param.secret && args[name] !== undefined) addSecret(args[name], redactor);
  }
  collectSecretFields(body, redactor);
}

/** Adds the values of all fields, at any depth, whose name marks a secret. */
export function collectSecretFields(value: unknown, redactor: Redactor): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (!Array.isArray(value) && isSecretField(name)) addSecret(inner, redactor);
    else collectSecretFields(inner, redactor);
  }
}

/** Adds a text as a whole, and each value of the `name=value` pairs in it. */
function addSecret(value: unknown, redactor: Redactor): void {
  if (typeof value === 'string') {
    redactor.add(value);
    for (const pair of value.split(',')) {
      const at = pair.indexOf('=');
      if (at > 0) redactor.add(pair.slice(at + 1));
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) addSecret(inner, redactor);
  }
}
