import { Agent, request } from 'node:http';

/**
 * Creates a client of the running instances.
 *
 * @param {string[]} urls
 * @param {number} connections total, kept open between requests
 * @param {AbortSignal} signal ends all requests
 */
export function openShop(urls, connections, signal) {
  const agents = urls.map(
    () => new Agent({ keepAlive: true, maxSockets: Math.ceil(connections / urls.length) }),
  );
  const send = (index, path, options, body) =>
    call(new URL(path, urls[index % urls.length]), { ...options, signal }, body);
  // A new connection: the server may close an idle one at the moment of its next use.
  const once = { agent: false };
  return {
    setStock: (sku, stock) => send(0, `/inventory/${sku}`, { method: 'PUT', ...once }, { stock }),
    /** The stock as each instance reads it. */
    levels: (sku) =>
      Promise.all(
        urls.map((_, index) =>
          send(index, `/inventory/${sku}`, { method: 'GET', ...once }).then(({ body }) => body),
        ),
      ),
    /** A buyer always uses the same instance, so that none of its connections is idle. */
    order: (buyer, path, order) =>
      send(buyer, path, { method: 'POST', agent: agents[buyer % urls.length] }, order),
    close: () => agents.forEach((agent) => agent.destroy()),
  };
}

function call(url, options, body) {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? '' : JSON.stringify(body);
    const headers =
      body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const sent = request(url, { ...options, headers }, (response) => {
      let received = '';
      response.setEncoding('utf8').on('data', (part) => (received += part));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode, body: parse(received) }));
    });
    sent.on('error', reject);
    sent.end(text);
  });
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
