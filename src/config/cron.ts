import { validateDetailed } from 'node-cron';

/** What is wrong with a cron expression, as the end of a sentence; undefined when it is one of five fields. */
export function cronError(expression: string): string | undefined {
  if (splitCron(expression).length !== 5) {
    return 'must have five fields: minute, hour, day of month, month, day of week';
  }
  const { errors } = validateDetailed(expression);
  if (errors.length === 0) return undefined;
  return errors.map(({ field, message }) => (field ? `${field}: ${message}` : message)).join('; ');
}

/** What is wrong with the name of a time zone; undefined when the runtime knows it. */
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
