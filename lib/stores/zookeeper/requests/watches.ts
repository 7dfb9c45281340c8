import { EVENT, type WatchEvent } from '../connection/zookeeper-socket.js';
import type { OwnPlace } from '../locks/own-places.js';

const CHANGES: readonly number[] = Object.values(EVENT);

/** Which places are to be looked at again when ZooKeeper tells of a node; it does so once for each time it is asked. */
export class Watches {
  private readonly byPath = new Map<string, Set<OwnPlace>>();

  /** @param wake called with whether the node is still there, with other data */
  constructor(private readonly wake: (place: OwnPlace, isDataOnly: boolean) => void) {}

  add(path: string, place: OwnPlace): void {
    const places = this.byPath.get(path);
    if (places === undefined) this.byPath.set(path, new Set([place]));
    else places.add(place);
  }

  event({ type, path }: WatchEvent): void {
    if (!CHANGES.includes(type)) return;
    const places = this.byPath.get(path);
    this.byPath.delete(path);
    for (const place of places ?? []) this.wake(place, type === EVENT.dataChanged);
  }

  /** They end with the connection, on which they are asked for anew. */
  clear(): void {
    this.byPath.clear();
  }
}
