import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { monotonic } from './monotonic.mjs';

/**
 * A TCP proxy that can hold requests or replies back for a while, cut connections, and deliver requests late: a request
 * reaches the server even if its client has disconnected.
 */
export class LateProxy {
  #pairs = new Set();
  #listeners = [];
  #targets;
  #repliesHeldUntil = 0;
  #requestsHeldUntil = 0;
  #timer;

  /** @param {readonly (() => number)[]} targets the ports to which new connections lead, each with a port of the proxy */
  constructor(...targets) {
    this.#targets = targets;
  }

  async open() {
    for (const target of this.#targets) {
      const listener = createServer((client) => this.#join(client, target()));
      this.#listeners.push(listener);
      listener.listen(0, '127.0.0.1');
      await once(listener, 'listening');
    }
    this.#timer = setInterval(() => this.#pump(), 5);
  }

  get ports() {
    return this.#listeners.map((listener) => listener.address().port);
  }

  get port() {
    return this.ports[0];
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
    for (const listener of this.#listeners) listener.close();
    for (const { client, server } of this.#pairs) {
      client.destroy();
      server.destroy();
    }
  }

  #join(client, port) {
    const server = connect(port, '127.0.0.1');
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
