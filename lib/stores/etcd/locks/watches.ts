import type { Endpoint } from '../connection/endpoint.js';
import { methods } from '../protocol/methods.js';
import type { KeyValue, WatchReply } from '../protocol/replies.js';
import type { WatchCall } from '../protocol/requests.js';

/** Who wants to know of changes. */
export interface WatchListener {
  readonly start: string;
  readonly end: string;
  readonly of: 'puts' | 'deletions';
  /** From the revision after this one on, nothing is missed. */
  watched(revision: number): void;
  /** Of one or several revisions, the oldest first. */
  changed(events: readonly KeyValue[]): void;
}

/**
 * The one stream on which etcd tells of changes (P11). It is opened with the first watch and kept. A watch begins with what
 * comes next: those that begin in the past are served ten times a second only. So whoever is told that it is watched has to
 * look at what is there.
 */
export class Watches {
  private readonly listeners = new Map<number, WatchListener>();
  private lastId = 0;
  private endpoint: Endpoint | undefined;
  private stream: { send(call: WatchCall): void; end(): void } | undefined;

  /** The function that it answers ends it. */
  watch(listener: WatchListener): () => void {
    const id = ++this.lastId;
    this.listeners.set(id, listener);
    this.open(id, listener);
    return () => {
      if (this.listeners.delete(id)) this.stream?.send({ do: 'unwatch', id });
    };
  }

  connected(endpoint: Endpoint): void {
    this.endpoint = endpoint;
    this.stream = undefined;
    for (const [id, listener] of this.listeners) this.open(id, listener);
  }

  disconnected(): void {
    this.endpoint = this.stream = undefined;
  }

  private open(id: number, { start, end, of }: WatchListener): void {
    const { endpoint } = this;
    if (endpoint === undefined) return;
    this.stream ??= endpoint.stream(methods.watch, (reply) => {
      if (this.endpoint === endpoint) this.receive(endpoint, reply);
    });
    this.stream.send({ do: 'watch', id, key: start, end, of });
  }

  private receive(endpoint: Endpoint, { id, revision, created, canceled, reason, events }: WatchReply): void {
    const listener = this.listeners.get(id);
    if (listener === undefined) return;
    // Who is too slow is given up by etcd, and a token may be over. Everything is watched anew.
    if (canceled) endpoint.cut(new Error(`etcd has ended a watch (${reason})`));
    else if (created) listener.watched(revision);
    else if (events.length > 0) listener.changed(events);
  }
}
