import type { Remedy } from '../../port/store-failure.js';

/** What ZooKeeper answers, and what to do. */
export const zooKeeperRemedies: readonly Remedy[] = [
  {
    says: /no node \(-101\)/,
    advice:
      'Nodes below the path of locks were deleted: the process creates them again as soon as it is connected again.',
  },
  {
    says: /no auth \(-102\)/,
    advice:
      'The user may not do this below the path of locks: give it the rights to read, write, create and delete there, or check `auth`.',
  },
  { says: /auth failed \(-115\)/, advice: 'Check `auth`, the user and password of zookeeperStore.' },
  { says: /unimplemented \(-6\)/, advice: 'Locks need ZooKeeper 3.5.3 or newer.' },
  {
    says: /invalid ACL \(-114\)/,
    advice:
      'The servers do not know the identity of the client, to which nodes of locks are to belong: set ssl.clientAuth=need on the servers, so that they read the certificate in `tls`, or set `auth`, a user and password.',
  },
  { says: /quota exceeded \(-125\)/, advice: 'The path of locks has a quota: raise it.' },
];
