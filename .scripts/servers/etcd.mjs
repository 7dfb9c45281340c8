/** @typedef {{ name: string, port: number, peerPort: number }} EtcdMember */

/** The URL of a member for the others. */
export const peerUrlOf = ({ peerPort }) => `http://127.0.0.1:${peerPort}`;

/**
 * The command line of a member of etcd on the loopback interface.
 *
 * @param {EtcdMember} member
 * @param {string} data its folder
 * @param {readonly EtcdMember[]} [members] of its cluster
 * @param {Readonly<Record<string, string>>} [more] further options, and those with other values
 * @returns {string[]}
 */
export function etcdArguments(member, data, members = [member], more = {}) {
  const [url, peerUrl] = [`http://127.0.0.1:${member.port}`, peerUrlOf(member)];
  const options = {
    name: member.name,
    'data-dir': data,
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': peerUrl,
    'initial-advertise-peer-urls': peerUrl,
    'initial-cluster': members.map((one) => `${one.name}=${peerUrlOf(one)}`).join(','),
    'log-level': 'error',
    ...more,
  };
  return Object.entries(options).map(([option, value]) => `--${option}=${value}`);
}

/** Options for short tests: elections take less than a second, and a power failure may lose data. */
export const FAST_ETCD = {
  'heartbeat-interval': '50',
  'election-timeout': '300',
  'unsafe-no-fsync': 'true',
};

/**
 * Sends a request of etcd's JSON gateway.
 *
 * @param {{ port: number }} member
 * @param {string} path such as `maintenance/status`
 * @param {object} [body]
 * @returns {Promise<any>}
 */
export async function askEtcd({ port }, path, body = {}) {
  const request = { method: 'POST', body: JSON.stringify(body), signal: AbortSignal.timeout(5_000) };
  const reply = await fetch(`http://127.0.0.1:${port}/v3/${path}`, request);
  if (!reply.ok) throw new Error(`etcd answered ${reply.status}: ${await reply.text()}`);
  return await reply.json();
}

/**
 * `leader` or `follower`; undefined for a member that does not answer or knows no leader.
 *
 * @param {{ port: number }} member
 * @returns {Promise<'leader' | 'follower' | undefined>}
 */
export async function roleInEtcd(member) {
  try {
    const { header, leader } = await askEtcd(member, 'maintenance/status');
    if (leader === undefined) return undefined;
    return header.member_id === leader ? 'leader' : 'follower';
  } catch {
    return undefined;
  }
}

/** @param {{ port: number }} member */
export const leadsEtcd = async (member) => (await roleInEtcd(member)) === 'leader';
