// The connection of `clocked-redis.mjs`. RESP3, where messages of channels arrive between the replies of the same connection:
// so it is known which request has published them.
import { createConnection } from 'node:net';
import { workerData } from 'node:worker_threads';

const { path, port, signal } = workerData;
const socket = createConnection(path);
let unread = Buffer.alloc(0);
let open = 0;
let replies = [];
let messages = [];

port.on('message', (commands) => {
  open = commands.length;
  replies = [];
  messages = [];
  socket.write(commands.map(encode).join(''));
});

socket.on('data', (chunk) => {
  unread = Buffer.concat([unread, chunk]);
  for (let read = parse(0); read !== undefined; read = parse(0)) {
    unread = unread.subarray(read.next);
    if (read.isPush && /^p?message$/.test(read.value[0])) {
      const [channel, text] = read.value.slice(-2);
      messages.push({ channel, text });
    } else replies.push(read.value);
  }
  if (open === 0 || replies.length < open) return;
  open = 0;
  port.postMessage({ replies, messages });
  Atomics.store(signal, 0, 1);
  Atomics.notify(signal, 0);
});

function encode(command) {
  const words = command.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`);
  return `*${command.length}\r\n${words.join('')}`;
}

/** The value that begins there and where it ends; undefined if it has not arrived as a whole. */
function parse(start) {
  const end = unread.indexOf('\r\n', start);
  if (end === -1) return undefined;
  const kind = String.fromCharCode(unread[start]);
  const rest = unread.toString('utf8', start + 1, end);
  const next = end + 2;
  if (kind === '+') return { value: rest, next };
  if (kind === '-') return { value: new Error(rest), next };
  if (kind === ':') return { value: Number(rest), next };
  if (kind === '_') return { value: null, next };
  const length = Number(rest);
  if (kind === '$') {
    if (unread.length < next + length + 2) return undefined;
    return { value: unread.toString('utf8', next, next + length), next: next + length + 2 };
  }
  const value = [];
  let at = next;
  // A map has two values for each entry.
  for (let left = kind === '%' ? 2 * length : length; left > 0; left -= 1) {
    const item = parse(at);
    if (item === undefined) return undefined;
    value.push(item.value);
    at = item.next;
  }
  return { value, next: at, isPush: kind === '>' };
}
