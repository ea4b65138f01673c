/**
 * What interrupts the statements of each open connection. Node exits only after the threads that run them, so that a stopped command would
 * wait for the end of its statement.
 */
export const interrupts = new Set<() => void>();
