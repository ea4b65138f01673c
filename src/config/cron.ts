import { validateDetailed } from 'node-cron';

/** The error in a cron expression of five fields, as the end of a sentence; undefined when it is valid. */
export function cronError(expression: string): string | undefined {
  if (splitCron(expression).length !== 5) {
    return 'must have five fields: minute, hour, day of month, month, day of week';
  }
  const { errors } = validateDetailed(expression);
  if (errors.length === 0) return undefined;
  return errors.map(({ field, message }) => (field ? `${field}: ${message}` : message)).join('; ');
}

/** The error in the name of a time zone; undefined when the runtime has it. */
export function timeZoneError(zone: string): string | undefined {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return undefined;
  } catch {
    return `there is no time zone ${zone}; give one such as Europe/Berlin or UTC`;
  }
}

export function splitCron(expression: string): readonly string[] {
  return expression.trim().split(/\s+/u);
}
