import { describe, expect, it } from '@jest/globals';
import { notConnected } from '../../../../lib/stores/redis/connection/redis-failure.js';
import { connectionProblem } from '../../../../lib/stores/redis/doctor/examine-redis.js';

describe('a failed connection of doctor', () => {
  it.each([
    ['connect ECONNREFUSED 127.0.0.1:6379', 'Nothing listens'],
    ['connect ETIMEDOUT', 'No reply'],
    ['no answer within 2000 ms', 'No reply'],
    ['getaddrinfo ENOTFOUND redis.invalid', 'not known here'],
    ['WRONGPASS invalid username-password pair or user is disabled.', 'neither this user nor this password'],
    ['NOAUTH Authentication required.', 'neither this user nor this password'],
    ["NOPERM this user has no permissions to run the 'select' command", 'the rights that it lacks'],
    ['self-signed certificate in certificate chain', 'NODE_EXTRA_CA_CERTS'],
    ['LOADING Redis is loading the dataset in memory', 'wait until it has'],
    ['ERR max number of clients reached', 'maxclients'],
    ['All sentinels are unreachable.', 'name of the primary'],
    ['read ECONNRESET', 'The connection was closed'],
    ['something else', 'Check the address'],
  ])('is reported with a remedy for "%s"', (cause, remedy) => {
    const { check, level, text } = connectionProblem(notConnected(new Error(cause)));
    expect({ check, level }).toEqual({ check: 'connection', level: 'problem' });
    expect(text).toContain(`Redis is not connected (${cause}). `);
    expect(text).toContain(remedy);
  });
});
