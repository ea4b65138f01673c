const SIZE = /^([\d.]+)\s*([KMGT]?)(i?)B$/iu;
const PREFIXES = ['', 'K', 'M', 'G', 'T'];

/** The bytes of a size as the configuration has it and DuckDB reads it: `1GB`, `1.5 GiB`. */
export function readSize(text: string): number {
  const [, amount = '', prefix = '', binary] = SIZE.exec(text) ?? [];
  return Math.round(Number(amount) * (binary ? 1024 : 1000) ** PREFIXES.indexOf(prefix.toUpperCase()));
}
