import { describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import {
  notConnected,
  redisFailure,
  RedirectedError,
} from '../../../../lib/stores/redis/connection/redis-failure.js';
import { connectionProblem } from '../../../../lib/stores/redis/doctor/examine-redis.js';

function reply(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

describe('P32: whether a failed request was carried out', () => {
  it.each([
    'MOVED 1 127.0.0.1:1',
    'ASK 1 127.0.0.1:1',
    "READONLY You can't write against a read only replica.",
    'LOADING Redis is loading the dataset in memory',
    'BUSY Redis is busy running a script.',
    'NOREPLICAS Not enough good replicas to write.',
    'NOSCRIPT No matching script.',
    'MASTERDOWN Link with MASTER is down',
    'CLUSTERDOWN The cluster is down',
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
    "OOM command not allowed when used memory > 'maxmemory'.",
    // The wording of Redis 6.2 for a command of a script.
    "ERR Error running script (call to f_0a): @user_script:33: @user_script: 33: -READONLY You can't write against a read only replica. ",
    "ERR Error running script (call to f_0a): @user_script:33: @user_script: 33: -OOM command not allowed when used memory > 'maxmemory'. ",
    'ERR Error running script (call to f_0a): @user_script:33: @user_script: 33: -NOREPLICAS Not enough good replicas to write. ',
  ])('not at all, and another attempt may succeed: %s', (message) => {
    expect(redisFailure(reply(message), undefined)).toMatchObject({ inDoubt: false, retryable: true });
  });

  it.each([
    "NOPERM this user has no permissions to run the 'evalsha' command",
    'NOAUTH Authentication required.',
    "CROSSSLOT Keys in request don't hash to the same slot",
  ])('not at all, and another attempt is useless: %s', (message) => {
    expect(redisFailure(reply(message), undefined)).toMatchObject({ inDoubt: false, retryable: false });
  });

  it.each([
    ['MOVED 5798 127.0.0.1:7002', 'moved', '127.0.0.1:7002'],
    ['ASK 5798 ::1:7002', 'ask', '::1:7002'],
  ])('not at all, and the reply names another node: %s', (message, kind, address) => {
    const failure = redisFailure(reply(message), undefined);
    expect(failure).toBeInstanceOf(RedirectedError);
    expect(failure).toMatchObject({ kind, address, inDoubt: false, retryable: true });
  });

  it.each([
    'WRONGTYPE Operation against a key holding the wrong kind of value script: 0a, on @user_script:1.',
    'NOPERM ACL failure in script: no permissions to access a channel',
    'ERR something else',
    'ERR Error running script (call to f_0a): @user_script:3: WRONGTYPE Operation against a key',
  ])('partially, perhaps: %s', (message) => {
    expect(redisFailure(reply(message), undefined)).toMatchObject({ inDoubt: true, retryable: false });
  });

  it('perhaps: the connection was lost before the reply', () => {
    const lost = redisFailure(new Error('Connection is closed.'), new Error('read ECONNRESET'));
    expect(lost).toMatchObject({ inDoubt: true, retryable: true });
    expect(lost.message).toContain('read ECONNRESET');
  });

  it('not at all: there was no connection', () => {
    expect(notConnected(new Error('connect ECONNREFUSED'))).toMatchObject({
      inDoubt: false,
      retryable: true,
    });
    const unsent = new Error("Stream isn't writeable and enableOfflineQueue options is false");
    expect(redisFailure(unsent, undefined)).toMatchObject({ inDoubt: false, retryable: true });
  });

  it('B65: Redis is unreachable without a connection or a reply, and if no server has the lock', () => {
    for (const failure of [
      notConnected(undefined),
      notConnected(new Error('connect ECONNREFUSED')),
      redisFailure(new Error('Connection is closed.'), undefined),
      redisFailure(new Error("Stream isn't writeable and enableOfflineQueue options is false"), undefined),
      redisFailure(reply('MASTERDOWN Link with MASTER is down'), undefined),
      redisFailure(reply('CLUSTERDOWN The cluster is down'), undefined),
    ]) {
      expect(failure).toMatchObject({ unreachable: true, retryable: true });
    }
  });

  it.each([
    'READONLY no',
    'OOM no',
    'NOREPLICAS no',
    'NOPERM no',
    'MISCONF no',
    'LOADING no',
    'ERR no',
    'WRONGTYPE no',
  ])('B65: Redis that replies is reachable: %s', (message) => {
    expect(redisFailure(reply(message), undefined).unreachable).toBe(false);
  });

  it('B65: Redis that rejects the password is reachable', () => {
    expect(notConnected(reply('WRONGPASS invalid username-password pair')).unreachable).toBe(false);
  });

  it('has one message for one state: no Sentinel is reachable', () => {
    const messages = ['398.22779853675', '25'].map((pause) => {
      const text = `All sentinels are unreachable. Retrying from scratch after ${pause}ms. Last error: connect ECONNREFUSED`;
      return notConnected(new Error(text)).message;
    });
    expect(messages[0]).toBe(
      'Redis is not connected (All sentinels are unreachable. Last error: connect ECONNREFUSED)',
    );
    expect(messages[1]).toBe(messages[0]);
  });

  it.each([
    ['something else', 'Check the address'],
    ['WRONGPASS invalid username-password pair', 'neither this user nor this password'],
  ])('is reported by doctor with a remedy: %s', (cause, remedy) => {
    const { check, level, text } = connectionProblem(notConnected(new Error(cause)));
    expect({ check, level }).toEqual({ check: 'connection', level: 'problem' });
    expect(text).toContain(`Redis is not connected (${cause}). `);
    expect(text).toContain(remedy);
  });

  it('never shows the password that ioredis attaches to an error of AUTH', () => {
    const refused = Object.assign(reply('WRONGPASS invalid username-password pair'), {
      command: { name: 'auth', args: ['someone', 'hunter2'] },
    });
    expect(inspect(notConnected(refused), { depth: 9 })).not.toContain('hunter2');
    expect(inspect(redisFailure(refused, undefined), { depth: 9 })).not.toContain('hunter2');
  });
});
