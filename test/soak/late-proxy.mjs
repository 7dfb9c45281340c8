import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { monotonic } from './monotonic.mjs';

/**
 * A TCP proxy that can hold requests or replies back for a while, cut connections, and deliver requests late: a request
 * reaches the server even if its client has disconnected.
 */
export class LateProxy {
  #pairs = new Set();
  #server;
  #target;
  #repliesHeldUntil = 0;
  #requestsHeldUntil = 0;
  #timer;

  /** @param {() => number} target the port to which new connections lead */
  constructor(target) {
    this.#target = target;
  }

  async open() {
    this.#server = createServer((client) => this.#join(client));
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#timer = setInterval(() => this.#pump(), 5);
  }

  get port() {
    return this.#server.address().port;
  }

  holdReplies(ms) {
    this.#repliesHeldUntil = Math.max(this.#repliesHeldUntil, monotonic() + ms);
  }

  holdRequests(ms) {
    this.#requestsHeldUntil = Math.max(this.#requestsHeldUntil, monotonic() + ms);
  }

  /** Cuts the connections that match `which`, on the client's side. */
  cut(which) {
    for (const { client } of [...this.#pairs]) if (which()) client.destroy();
  }

  close() {
    clearInterval(this.#timer);
    this.#server.close();
    for (const { client, server } of this.#pairs) {
      client.destroy();
      server.destroy();
    }
  }

  #join(client) {
    const server = connect(this.#target(), '127.0.0.1');
    client.setNoDelay(true);
    server.setNoDelay(true);
    const pair = { client, server, requests: [], replies: [], clientGone: false };
    this.#pairs.add(pair);
    client.on('data', (bytes) => {
      pair.requests.push(bytes);
      this.#pass(pair);
    });
    server.on('data', (bytes) => {
      pair.replies.push(bytes);
      this.#pass(pair);
    });
    // Either end may reset the connection at any time; 'close' follows.
    client.on('error', () => undefined);
    server.on('error', () => undefined);
    client.on('close', () => {
      pair.clientGone = true;
      this.#pass(pair);
    });
    server.on('close', () => {
      this.#pairs.delete(pair);
      client.destroy();
    });
  }

  #pump() {
    for (const pair of this.#pairs) this.#pass(pair);
  }

  #pass({ client, server, requests, replies, clientGone }) {
    const now = monotonic();
    if (now >= this.#requestsHeldUntil) {
      for (const bytes of requests.splice(0)) server.write(bytes);
      if (clientGone) server.end();
    }
    if (now >= this.#repliesHeldUntil && !client.destroyed) {
      for (const bytes of replies.splice(0)) client.write(bytes);
    }
  }
}
