import { randomUUID } from 'node:crypto';
import type {
  AcquireReply,
  AcquireRequest,
  LockStore,
  LockStoreSession,
  MonotonicMs,
  OwnerId,
  PushedGrant,
  ReleaseReply,
  RenewReply,
  RenewRequest,
  StoredHold,
  StoredLock,
} from '../../lib/stores/port/index.js';
import type { ReserveReply, ReserveRequest } from '../../lib/stores/port/lock-store.js';
import { until } from '../support/until.js';
import type { StoreUnderTest } from './store-under-test.js';

/** The fields of a request besides key and owner. */
export interface AskSettings {
  readonly lease?: number;
  readonly claimLease?: number;
  readonly wait?: boolean;
  readonly callers?: number;
  readonly tokens?: number;
  readonly contended?: boolean;
  readonly limit?: number;
  readonly permits?: number;
  readonly label?: string;
}

/** The only holder of a key, and the number of waiters apart from this client's. */
interface WholeLock extends StoredHold {
  readonly waiting: number;
}

/** What a contract test has to know about the store besides the port. */
type Ways = Pick<StoreUnderTest, 'settled' | 'isDecidedByVotes'>;

/** A bare client of the port: it sends what the test sends, and records what it receives. */
export class PortClient {
  readonly id = randomUUID();
  readonly grants: (PushedGrant & { readonly owner: OwnerId })[] = [];
  readonly broken: OwnerId[] = [];
  /** The pushes to its owners, in order. */
  readonly pushes: (readonly ['granted' | 'broken', OwnerId])[] = [];
  private readonly session: LockStoreSession;
  private lastOwner = 0;
  /** How often a subscription was opened. */
  private subscribed = 0;

  private constructor(
    private readonly store: LockStore,
    private readonly ways: Ways | undefined,
  ) {
    this.session = store.open({
      id: this.id,
      watchdogTimeout: 30_000,
      now: () => performance.now() as MonotonicMs,
      granted: (owner, grant) => {
        this.grants.push({ owner, ...grant });
        this.pushes.push(['granted', owner]);
      },
      broken: (owner) => {
        this.broken.push(owner);
        this.pushes.push(['broken', owner]);
      },
      heldByOthers: () => undefined,
      isWanted: () => true,
      pollNow: () => {
        this.subscribed += 1;
      },
      reconnected: () => undefined,
      locksLocally: () => undefined,
      warn: () => undefined,
    });
  }

  /** @param ways left out by tests that check themselves what each server has carried out */
  static async open(store: LockStore, ways?: Ways): Promise<PortClient> {
    const client = new PortClient(store, ways);
    await client.session.start();
    // Grants that are pushed before that are found by the next poll of an engine, which this client does not have.
    await until('the subscriptions', () => client.subscribed >= client.subscriptions);
    return client;
  }

  private get subscriptions(): number {
    const connections = this.session.connections?.() ?? [];
    return connections.filter(({ name }) => name.endsWith(' messages')).length;
  }

  /** One more client of the store, which knows nothing of the owners of this one. */
  anotherClient(): Promise<PortClient> {
    return PortClient.open(this.store, this.ways);
  }

  get isDecidedByVotes(): boolean {
    return this.ways?.isDecidedByVotes === true;
  }

  newOwner(): OwnerId {
    return `${this.id}:${++this.lastOwner}` as OwnerId;
  }

  async acquire(key: string, owner: OwnerId, settings: AskSettings = {}): Promise<AcquireReply> {
    const reply = await this.session.acquire(requestOf(key, owner, settings));
    await this.ways?.settled();
    return reply;
  }

  /** Requests a free lock; returns its token. */
  async take(key: string, owner: OwnerId, lease = 20_000): Promise<number> {
    const reply = await this.acquire(key, owner, { lease });
    if (reply.outcome !== 'granted') throw new Error(`not granted but ${reply.outcome}`);
    return reply.token;
  }

  async release(key: string, owner: OwnerId, inDoubt = false): Promise<ReleaseReply> {
    const reply = await this.session.release({ key, owner, wasGranted: true, inDoubt });
    await this.ways?.settled();
    return reply;
  }

  async verify(): Promise<void> {
    await this.session.verify?.();
  }

  async cancel(key: string, owner: OwnerId, inDoubt = false): Promise<void> {
    await this.session.release({ key, owner, wasGranted: false, inDoubt });
  }

  /** The replies and failures of each. */
  renewAll(...requests: RenewRequest[]): ReturnType<LockStoreSession['renew']> {
    return this.session.renew(requests);
  }

  async renew(...requests: RenewRequest[]): Promise<readonly RenewReply[]> {
    const replies = await this.session.renew(requests);
    return replies.map((reply) => {
      if (reply instanceof Error) throw reply;
      return reply;
    });
  }

  async reserve(request: ReserveRequest): Promise<ReserveReply> {
    if (!this.session.reserve) throw new Error('this store reserves nothing');
    return await this.session.reserve(request);
  }

  /** For locks with a single holder. */
  async inspect(key: string): Promise<WholeLock | null> {
    const lock = await this.session.inspect(key);
    const [hold, ...others] = lock?.holders ?? [];
    if (lock === null || hold === undefined) return null;
    if (others.length > 0) throw new Error('more than one holder');
    const waiters = lock.waiters.filter(({ owner }) => !owner.startsWith(this.id));
    return { ...hold, waiting: waiters.reduce((sum, { callers }) => sum + callers, 0) };
  }

  lockOf(key: string): Promise<StoredLock | null> {
    return this.session.inspect(key);
  }

  async forceRelease(key: string): Promise<boolean> {
    return (await this.session.breakHold(key)) === 'broken';
  }

  /** The grant pushed to that owner. */
  async granted(owner: OwnerId): Promise<PushedGrant> {
    await until('the grant is pushed', () => this.grants.some((grant) => grant.owner === owner));
    const [grant] = this.grants.filter((candidate) => candidate.owner === owner);
    if (!grant) throw new Error('no grant');
    return grant;
  }

  close(): Promise<void> {
    return this.session.close();
  }
}

function requestOf(key: string, owner: OwnerId, settings: AskSettings = {}): AcquireRequest {
  const { lease = 20_000, claimLease = 2_000, wait = false, tokens = 1, contended = false } = settings;
  const { callers = 1, limit = 1, permits = 1, label } = settings;
  return { key, owner, lease, claimLease, wait, callers, tokens, contended, limit, permits, label };
}
