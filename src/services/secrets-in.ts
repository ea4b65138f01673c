import { isSecretField, type Redactor } from '../core/redact/redactor.ts';
import type { Args, Operation } from './operation.ts';
import { isObject } from './response.ts';

/** Makes the redactor know the secrets of a call before it is sent: the service's words may repeat them. */
export function collectSecrets(operation: Operation, args: Args, body: unknown, redactor: Redactor): void {
  for (const [name, param] of Object.entries(operation.params)) {
    if (param.secret && args[name] !== undefined) addSecret(args[name], redactor);
  }
  collectSecretFields(body, redactor);
}

/** Every value under a field whose name marks a secret, anywhere in a body or an answer. */
export function collectSecretFields(value: unknown, redactor: Redactor): void {
  if (Array.isArray(value)) for (const item of value) collectSecretFields(item, redactor);
  if (!isObject(value)) return;
  for (const [name, inner] of Object.entries(value)) {
    if (isSecretField(name)) addSecret(inner, redactor);
    else collectSecretFields(inner, redactor);
  }
}

/** Text is a secret as a whole, and so is each value of `name=value` pairs in it. */
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
