import { Agent, request } from 'node:http';

/**
 * A client of the running instances.
 *
 * @param {string[]} urls
 * @param {number} connections in all, kept open between requests
 * @param {AbortSignal} signal ends all requests
 */
export function openShop(urls, connections, signal) {
  const agents = urls.map(
    () => new Agent({ keepAlive: true, maxSockets: Math.ceil(connections / urls.length) }),
  );
  const send = (index, method, path, body) => {
    const at = index % urls.length;
    return call(new URL(path, urls[at]), { method, agent: agents[at], signal }, body);
  };
  return {
    setStock: (sku, stock) => send(0, 'PUT', `/inventory/${sku}`, { stock }),
    /** Asks each time another instance: they have to agree. */
    level: (sku, index) => send(index, 'GET', `/inventory/${sku}`),
    order: (index, path, order) => send(index, 'POST', path, order),
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
