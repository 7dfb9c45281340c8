/**
 * Calls back when a request that was just made has been written to the socket: gRPC passes it on in several steps of this
 * turn of the event loop, and HTTP/2 writes at the end of a turn.
 */
export function whenWritten(done: () => void): void {
  setImmediate(() => setImmediate(done));
}
