/** What redis-server and sentinels print when they are ready. A sentinel logs its id last. */
export const REDIS_READY = /Ready to accept connections|Sentinel ID is/;
export const PORT_TAKEN = /bind|Address already in use|listening socket/i;

/**
 * The command line of a redis-server on the loopback interface, without persistence.
 *
 * @param {{ port: number, folder: string }} server
 */
export function redisArguments({ port, folder }) {
  const settings = { bind: '127.0.0.1', port, dir: folder, save: '', appendonly: 'no' };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]);
}
