import type { Remedy } from '../../port/store-failure.js';

/** What etcd answers, and what to do. */
export const etcdRemedies: readonly Remedy[] = [
  { says: /permission denied/, advice: 'Give its user the right to read and write all keys of locks.' },
  { says: /user name is empty/, advice: 'Give etcdStore a username and a password.' },
  {
    says: /authentication failed|invalid user ID or password|invalid auth token/,
    advice: 'etcd accepts neither this user nor this password: check `username` and `password` of etcdStore.',
  },
  { says: /space exceeded/, advice: 'Compact and defragment it, then disarm its alarm.' },
  {
    says: /no leader/,
    advice: 'Bring the majority of the members back, and check the network between them.',
  },
  {
    says: /request timed out/,
    advice: 'The leader is gone, or its disk is slow: look at the disks of the members.',
  },
];
