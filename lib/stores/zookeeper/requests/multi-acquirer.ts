import type { AskRequest, Grant } from '../../port/lock-store.js';
import { zooKeeperFailure } from '../connection/zookeeper-failure.js';
import type { OwnPlace, OwnPlaces } from '../locks/own-places.js';
import type { LockNodes } from './lock-nodes.js';
import type { PlaceLifetimes } from './place-lifetimes.js';
import { dataOf, newPlace } from './place-words.js';

/** Takes several locks for one caller in one transaction, or none of them. */
export class MultiAcquirer {
  constructor(
    private readonly nodes: LockNodes,
    private readonly own: OwnPlaces,
    private readonly lifetimes: PlaceLifetimes,
  ) {}

  async takeAll(requests: readonly AskRequest[]): Promise<readonly Grant[] | number | null> {
    const known = requests.findIndex(({ key, owner }) => this.own.get(owner, key) !== undefined);
    if (known !== -1) return known;
    try {
      return await this.take(requests);
    } catch (error) {
      const failure = zooKeeperFailure(error);
      this.own.onFailure(failure, requests);
      throw failure;
    }
  }

  private async take(requests: readonly AskRequest[]): Promise<readonly Grant[] | number | null> {
    const { nodes, own } = this;
    const { created, lines } = await nodes.join(
      requests.map((request) => {
        const { key, owner, limit } = request;
        return { key, owner, limit, data: dataOf(nodes, request, 'free') };
      }),
    );
    const places = requests.map((request, index): OwnPlace => {
      const path = created[index]?.path ?? '';
      return newPlace(request, path.slice(path.lastIndexOf('/') + 1), path, false);
    });
    for (const place of places) own.add(place);
    const refused = places.findIndex(({ name }, index) => {
      const line = lines[index];
      return line === undefined || line.indexOf(name) === -1 || line.indexOf(name) >= line.held;
    });
    if (refused !== -1) return await this.giveBack(places, refused);
    const [first] = created;
    if (first === undefined) return [];
    let [zxid, since] = [first.stat.czxid, first.stat.ctime];
    // Somebody came or went meanwhile, so that it is not known which of them held their locks from the start.
    if (lines.some(({ changedAt }) => changedAt !== zxid)) {
      const stat = (
        await nodes.write(
          ...places.map(({ path, request }) => ({ path, data: dataOf(nodes, request, 'holds') })),
        )
      )?.stat;
      if (stat === undefined) return await this.giveBack(places, 0);
      [zxid, since] = [stat.mzxid, stat.mtime];
    }
    return places.map((place): Grant => {
      const { token, since: from } = this.lifetimes.hold(place, zxid, since, place.request.lease, false);
      return { token, since: from };
    });
  }

  private async giveBack(places: readonly OwnPlace[], refused: number): Promise<number> {
    await Promise.all(places.map((place) => this.lifetimes.leave(place)));
    return refused;
  }
}
