import { describe, expect, it } from '@jest/globals';
import { Deferred } from '../../../lib/common/deferred.js';

describe('Deferred', () => {
  it('calls every listener, in order, and those that come later', async () => {
    const heard: string[] = [];
    const reply = new Deferred<string>();
    const listen = (name: string): void =>
      reply.listen(
        (value) => heard.push(`${name} ${value}`),
        () => heard.push(`${name} failed`),
      );
    listen('first');
    const { promise } = reply;
    listen('second');
    reply.resolve('value');
    reply.resolve('another');
    listen('third');
    expect(heard).toEqual(['first value', 'second value', 'third value']);
    expect(await promise).toBe('value');
    expect(await reply).toBe('value');
  });

  it('calls every listener with the error', async () => {
    const heard: unknown[] = [];
    const reply = new Deferred<string>();
    for (let count = 0; count < 2; count++)
      reply.listen(
        () => undefined,
        (error) => heard.push(error),
      );
    reply.reject('broken');
    expect(heard).toEqual(['broken', 'broken']);
    await expect(reply.promise).rejects.toBe('broken');
  });
});
