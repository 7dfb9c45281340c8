import { problem, type Finding } from './finding.js';

/** What a failure to connect comes from as a rule, and what to do; the first that fits. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/NOPERM/, 'Give the user the rights that it lacks.'],
  [
    /WRONGPASS|NOAUTH|invalid (username|password)|AUTH/,
    'The server is there, but takes neither this user nor this password, or wants one: check them, and percent-encode special characters in a URL.',
  ],
  [
    /database|DB index/,
    'Choose a database that there is, such as /0 at the end of the URL, or raise `databases` of the server. A Redis Cluster has only 0.',
  ],
  [/LOADING/, 'It is reading its data from disk: wait until it has.'],
  [/max number of clients/, 'Raise `maxclients`, or find out who opens so many connections.'],
  [/protected mode/i, 'Set a password, or `bind` and `protected-mode` as its message says.'],
  [
    /sentinel/i,
    'Check the addresses of the sentinels and the name of the primary: SENTINEL get-master-addr-by-name NAME has to answer its address.',
  ],
  [
    /certificate|self.signed|SSL|TLS|wrong version|EPROTO/i,
    'Check that rediss:// and redis:// are not mixed up, and that this machine trusts the certificate (NODE_EXTRA_CA_CERTS).',
  ],
  [/ENOTFOUND|EAI_AGAIN/, 'The name of the host is not known here: check it, and the DNS.'],
  [
    /ECONNREFUSED/,
    'Nothing listens at that address and port: check both, that the server runs, and that `bind` lets this machine in.',
  ],
  [
    /ETIMEDOUT|no answer|timed out|EHOSTUNREACH|ENETUNREACH/i,
    'Nothing answers from there: check the address, firewalls and network policies, whether the server is overloaded or stopped, and that rediss:// and redis:// are not mixed up.',
  ],
  [
    /ECONNRESET|closed/i,
    'Something closes the connection: check for a proxy, TLS on one side only, and `bind`.',
  ],
];

export function connectionProblem(message: string): Finding {
  const known = REMEDIES.find(([pattern]) => pattern.test(message));
  const remedy = known?.[1] ?? 'Check the address, and that the server is up.';
  const isDatabase = message.includes('does not have the database');
  return problem(isDatabase ? 'database' : 'connection', `${message}. ${remedy}`);
}
