import { describe, expect, it } from '@jest/globals';
import { versionOf } from '../../../../lib/stores/zookeeper/start-check.js';
import { TestServer } from '../../../support/test-server.js';

/** The version of a server that sends this reply, and then closes the connection. */
async function versionIn(answer: string): Promise<string | undefined> {
  const server = await TestServer.start((socket) => socket.once('data', () => socket.end(answer)));
  try {
    return await versionOf({ host: '127.0.0.1', port: server.port }, undefined);
  } finally {
    server.close();
  }
}

describe('the version of a ZooKeeper', () => {
  it.each([
    ['Zookeeper version: 3.9.3-c26634f34490bb0ea7a09cc51e05ede3b4e320ee, built on 2024', '3.9.3'],
    ['Zookeeper version: 3.5.10, built on 2022\nLatency', '3.5.10'],
    ['srvr is not executed because it is not in the whitelist.', undefined],
    ['', undefined],
  ])('of %j is %j', async (answer, version) => {
    expect(await versionIn(answer)).toBe(version);
  });
});
