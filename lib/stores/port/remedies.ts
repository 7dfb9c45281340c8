/** What to do about one cause of a failure. */
export interface Remedy {
  /** What the failure's message contains. */
  readonly says: RegExp;
  /** A sentence. */
  readonly advice: string;
}

/** Causes that keep a process from any store. Messages are those of Node.js and OpenSSL. */
export const connectionRemedies: readonly Remedy[] = [
  {
    says: /ENOTFOUND|EAI_AGAIN|Name resolution failed/,
    advice: 'The name of the host is not known here: check the address, and DNS.',
  },
  {
    says: /ECONNREFUSED/,
    advice:
      'Nothing listens at that address and port: check both, that the server runs, and that it accepts connections from this machine.',
  },
  {
    says: /certificate|self.signed|unable to verify|Hostname\/IP does not match/i,
    advice: 'Have this process trust the certificate of the server (option `tls`, or NODE_EXTRA_CA_CERTS).',
  },
  {
    says: /EPROTO|wrong version number|packet length too long|SSL|TLS/,
    advice: 'TLS is used on one side only: use it on both, or on neither.',
  },
  {
    says: /ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|no answer|timed out|can't be reached/i,
    advice:
      'Nothing answers: check the address, firewalls and network policies, whether the server is overloaded or stopped, and that TLS is used on both sides or on neither.',
  },
  {
    says: /ECONNRESET|EPIPE|socket hang up|closed|terminated/i,
    advice:
      'The connection was closed: check that the server is up, for a proxy in between, and that TLS is used on both sides or on neither.',
  },
];

/** What to do about the first cause that the message contains; those of the store come first. */
export function adviceOn(message: string, ofStore: readonly Remedy[]): string | undefined {
  return [...ofStore, ...connectionRemedies].find(({ says }) => says.test(message))?.advice;
}
