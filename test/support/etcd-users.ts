import type { Endpoint } from '../../lib/stores/etcd/connection/endpoint.js';
import { MessageWriter, type Method } from '../../lib/stores/etcd/connection/protocol.js';
import type { EtcdServer } from './etcd-server.js';

export const PREFIX = 'distributed-lock/';
export const PASSWORD = 's3cr3t';
export const ROOT = { username: 'root', password: 'of-root' };
/** Values of `Permission.Type` in etcd's `auth.proto`. */
const RIGHTS = { read: 0, write: 1, readwrite: 2 } as const;

/** An etcd method that the library does not use. */
const admin = (path: string): Method<MessageWriter, undefined> => ({
  path: `/etcdserverpb.Auth/${path}`,
  encode: (message) => message.finish(),
  decode: () => undefined,
});

async function addUser(client: Endpoint, name: string, password: string, role: string): Promise<void> {
  await client.call(admin('UserAdd'), new MessageWriter().string(1, name).string(2, password));
  await client.call(admin('UserGrantRole'), new MessageWriter().string(1, name).string(2, role));
}

/** Replaces the rights of `shop` to all keys of locks. */
async function grantLocks(client: Endpoint, rights: keyof typeof RIGHTS): Promise<void> {
  const writer = new MessageWriter().string(1, 'locks');
  writer.message(2, () => {
    writer
      .int(1, RIGHTS[rights])
      .string(2, PREFIX)
      .string(3, `${PREFIX.slice(0, -1)}0`);
  });
  await client.call(admin('RoleGrantPermission'), writer);
}

/** `shop` may use locks, and `guest` nothing, once authentication is enabled. */
export async function addUsers(server: EtcdServer): Promise<Endpoint> {
  const client = server.client();
  await client.open(10_000);
  for (const role of ['root', 'locks', 'nothing']) {
    await client.call(admin('RoleAdd'), new MessageWriter().string(1, role));
  }
  await grantLocks(client, 'readwrite');
  await addUser(client, ROOT.username, ROOT.password, 'root');
  await addUser(client, 'shop', PASSWORD, 'locks');
  await addUser(client, 'guest', PASSWORD, 'nothing');
  return client;
}

/** Enables authentication. */
export async function putInForce(client: Endpoint): Promise<void> {
  await client.call(admin('AuthEnable'), new MessageWriter());
}

export async function protect(server: EtcdServer): Promise<Endpoint> {
  const client = await addUsers(server);
  await putInForce(client);
  return client;
}

/** Changes the rights of `shop` to all keys of locks while authentication is enabled. */
export async function changeRights(client: Endpoint, rights: keyof typeof RIGHTS): Promise<void> {
  await client.authenticate(ROOT);
  await grantLocks(client, rights);
}

/** Sets the same password again, which invalidates the user's tokens. */
export async function setPasswordAgain(client: Endpoint, name: string): Promise<void> {
  await client.authenticate(ROOT);
  const message = new MessageWriter().string(1, name).string(2, PASSWORD);
  await client.call(admin('UserChangePassword'), message);
}

/** Adds a user and grants rights, which changes the revision of etcd's users and roles. */
export async function grantToNewcomer(client: Endpoint, name: string): Promise<void> {
  await client.authenticate(ROOT);
  await client.call(admin('UserAdd'), new MessageWriter().string(1, name).string(2, PASSWORD));
  await client.authenticate(ROOT);
  await client.call(admin('UserGrantRole'), new MessageWriter().string(1, name).string(2, 'locks'));
}
