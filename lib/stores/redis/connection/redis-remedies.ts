import type { Remedy } from '../../port/store-failure.js';

/** What Redis answers, and what to do; `doctor` says the same. */
export const redisRemedies: readonly Remedy[] = [
  {
    says: /NOPERM|user executing the script|ACL failure in script/,
    advice: 'Give the Redis user the rights that it lacks; the log at start and `doctor` list them.',
  },
  {
    says: /WRONGPASS|NOAUTH|invalid (username|password)|AUTH/,
    advice:
      'The server accepts neither this user nor this password, or requires one: check them, and percent-encode special characters in a URL.',
  },
  {
    says: /database|DB index/,
    advice:
      'Choose a database that there is, such as /0 at the end of the URL, or raise `databases` of the server. A Redis Cluster has only 0.',
  },
  { says: /LOADING/, advice: 'The server is reading its data from disk: wait until it has.' },
  { says: /max number of clients/, advice: 'Raise `maxclients`, or find out who opens so many connections.' },
  { says: /protected mode/i, advice: 'Set a password, or `bind` and `protected-mode` as the message says.' },
  {
    says: /sentinel/i,
    advice:
      'Check the addresses of the sentinels and the name of the primary: SENTINEL get-master-addr-by-name NAME has to answer its address.',
  },
  { says: /OOM/, advice: 'Redis is full: raise `maxmemory`, or keep the locks on a server of their own.' },
  {
    says: /READONLY/,
    advice: 'Use the address of the primary, or of Sentinel; during a failover it passes by itself.',
  },
  { says: /MISCONF/, advice: 'Redis cannot write to its disk: its log says why.' },
  {
    says: /NOREPLICAS|replicas connected/,
    advice:
      'Too few replicas are connected: connect them, or lower `min-replicas-to-write` or `replicas.min`.',
  },
  {
    says: /CLUSTERDOWN|MASTERDOWN/,
    advice: 'Servers of the Cluster or the primary are down: bring them back, or fail over.',
  },
  {
    says: /CROSSSLOT|MOVED/,
    advice: 'It is a node of a Cluster: give `redis: { nodes: […] }`, or a prefix with a hash tag.',
  },
];
