/** Whether a host leads to this machine: its name or address, IPv6 also in brackets. No name is looked up. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/u.test(host);
}
