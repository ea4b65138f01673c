import picocolors from 'picocolors';

/** Functions that colour a text, or return it unchanged where colour is off. */
export type Colors = ReturnType<typeof picocolors.createColors>;

interface ColorSettings {
  readonly isTerminal: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `--no-color`. */
  readonly isDisabled?: boolean;
}

/**
 * Whether to write colour to a stream. As in `gh`, `--no-color` turns it off, then FORCE_COLOR or CLICOLOR_FORCE turn it
 * on, then NO_COLOR, CLICOLOR=0 or TERM=dumb turn it off; without any of these it is on where the stream is a terminal.
 */
export function isColorEnabled({ isTerminal, env, isDisabled = false }: ColorSettings): boolean {
  if (isDisabled || env.FORCE_COLOR === '0') return false;
  if (isSet(env.FORCE_COLOR) || isSet(env.CLICOLOR_FORCE)) return true;
  if (env.NO_COLOR || env.CLICOLOR === '0' || env.TERM === 'dumb') return false;
  return isTerminal;
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0';
}

// With its type: a destructured one is declared by a path that a consumer of the package does not have.
export const createColors: typeof picocolors.createColors = picocolors.createColors;
