import { Glob } from '../../common/glob.js';
import { isKey } from '../../model/lock-key.js';
import { readLabel, readLimit, writtenLabel, writtenLimit } from '../port/limits.js';
import type {
  AcquireReply,
  AcquireRequest,
  BreakReply,
  ListedKeys,
  ListKeysRequest,
  NamedHold,
  OwnerRequest,
  ReleaseReply,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  StoredHold,
  StoredLock,
  StoredWaiter,
} from '../port/lock-store.js';
import type { TimedAcquireReply } from '../port/pushed-grants.js';
import { checkCursor } from '../port/store-failure.js';
import { TOMBSTONE_TTL, WAITER_TTL } from '../port/times.js';
import type { Row, Statement } from './postgres-connection.js';
import type { Call } from './request-queue.js';
import { quoted } from './schema.js';

/** Translates requests of the port to calls of the functions in the database, and back. */
export class LockCalls {
  private readonly schema: string;

  /** @param prefix of the locks' names */
  constructor(
    schema: string,
    private readonly prefix: string,
  ) {
    this.schema = quoted(schema);
  }

  /** The statement that carries out calls. */
  run(keys: readonly string[], requests: string): Statement {
    const text = `SELECT ${this.schema}.run($1::text[], $2::jsonb) AS replies`;
    return { name: 'lock-run', text, values: [keys, requests] };
  }

  acquire(request: AcquireRequest): Call<TimedAcquireReply> {
    const { key, owner, lease, wait, claimLease: claim, callers, tokens, limit, permits, label } = request;
    const fields = {
      owner,
      lease,
      wait,
      claim,
      patience: WAITER_TTL,
      callers,
      tokens,
      limit: writtenLimit(limit),
      permits,
      label: writtenLabel(label),
    };
    return { ...this.callOf('ask', key, fields), decode: toAcquireReply, waiter: wait ? owner : undefined };
  }

  /** Late requests of an owner in doubt are rejected. */
  release({ key, owner, wasGranted, inDoubt }: OwnerRequest): Call<ReleaseReply> {
    const leaves = inDoubt || !wasGranted;
    const fields = { owner, leaves, tombstone: inDoubt ? TOMBSTONE_TTL : 0 };
    return { ...this.callOf('give-back', key, fields), isRelease: true };
  }

  /** One statement for all. */
  renew(requests: readonly RenewRequest[]): Statement {
    const text = `SELECT to_jsonb(${this.schema}.renew($1::text[], $2::text[], $3::bigint[], $4::boolean[])) AS replies`;
    const values = [
      requests.map(({ key }) => this.nameOf(key)),
      requests.map(({ owner }) => owner),
      requests.map(({ lease }) => lease),
      requests.map(({ exactly = false }) => exactly),
    ];
    return { name: 'lock-renew', text, values };
  }

  toRenewReplies(rows: readonly Row[]): readonly RenewReply[] {
    return repliesIn(rows) as readonly RenewReply[];
  }

  reserve({ key, owner, lease, tokens, exactly = false }: ReserveRequest): Call<ReserveReply> {
    return this.callOf('reserve', key, { owner, lease, tokens, exactly });
  }

  inspect(key: string): Call<StoredLock | null> {
    return { ...this.callOf('inspect', key), decode: toStoredLock };
  }

  breakHold(key: string, { owner, token }: NamedHold = {}): Call<BreakReply> {
    // JSON omits undefined fields; the database then does not compare them.
    return this.callOf('break-hold', key, { owner, token });
  }

  /**
   * Sorted by the names in the database, the last of which is the cursor. The database compares only the literal start
   * of the pattern, so that no pattern makes it scan more names than `count`.
   */
  listKeys({ match, cursor = '', count }: ListKeysRequest): Statement {
    const { schema } = this;
    checkCursor(cursor === '' || this.isName(cursor));
    const text = `SELECT coalesce(jsonb_agg(key), '[]') AS replies FROM (
      SELECT DISTINCT h.key FROM ${schema}.holds h
       WHERE h.key > $1 AND h.key LIKE $2 ESCAPE '!' AND h.ends > ${schema}.clock() ORDER BY h.key LIMIT $3) AS listed`;
    const start = this.nameOf(new Glob(match).head).replace(/[%_!]/g, '!$&');
    return { text, values: [cursor, `${start}%`, count] };
  }

  toListedKeys(rows: readonly Row[], { match, count }: ListKeysRequest): ListedKeys {
    const names = repliesIn(rows) as readonly string[];
    const cursor = names.length < count ? undefined : names.at(-1);
    const glob = new Glob(match);
    return { keys: names.map((name) => this.keyOf(name)).filter((key) => glob.matches(key)), cursor };
  }

  raiseTokens(floor: number): Statement {
    return { text: `SELECT to_jsonb(${this.schema}.reserve_tokens(1, $1::bigint))`, values: [String(floor)] };
  }

  sweep(): Statement {
    return { text: `SELECT to_jsonb(${this.schema}.sweep())`, values: [] };
  }

  private callOf(name: string, key: string, fields: object = {}): { key: string; request: object } {
    const stored = this.nameOf(key);
    return { key: stored, request: { do: name, key: stored, ...fields } };
  }

  /** Whether it is the name of a lock. */
  private isName(name: string): boolean {
    const key = this.keyOf(name);
    return isKey(key) && this.nameOf(key) === name;
  }

  private keyOf(name: string): string {
    const key = name.slice(this.nameOf('').length);
    return key.replace(/\\[\\0]/g, (escaped) => (escaped === '\\0' ? '\0' : '\\'));
  }

  /** Escapes what PostgreSQL can't store in a text; different keys have different names. */
  private nameOf(key: string): string {
    return (this.prefix + key).replace(/[\\\0]/g, (character) => (character === '\0' ? '\\0' : '\\\\'));
  }
}

/** Replies are not checked: the functions of the schema and this code are of one version. */
function repliesIn(rows: readonly Row[]): unknown {
  return rows[0]?.['replies'] ?? [];
}

type WrittenReply =
  | Exclude<AcquireReply, { readonly outcome: 'queued' | 'busy' }>
  | { readonly outcome: 'queued' | 'busy'; readonly left: number | null; readonly time: number };

function toAcquireReply(written: unknown): TimedAcquireReply {
  const reply = written as WrittenReply;
  switch (reply.outcome) {
    case 'queued':
    case 'busy': {
      const { outcome, left, time } = reply;
      return { reply: { outcome, holderLeaseLeft: left ?? undefined }, serverTime: time };
    }
    case 'conflict':
      return { reply: { ...reply, limit: readLimit(reply.limit) }, serverTime: undefined };
    default:
      return { reply, serverTime: undefined };
  }
}

type Written<T> = Omit<T, 'label'> & { readonly label: string };

interface WrittenLock {
  readonly limit: number;
  readonly holders: readonly Written<StoredHold>[];
  readonly waiters: readonly Written<StoredWaiter>[];
}

function toStoredLock(written: unknown): StoredLock | null {
  if (written === null) return null;
  const { limit, holders, waiters } = written as WrittenLock;
  return {
    limit: readLimit(limit),
    holders: holders.map((hold) => ({ ...hold, label: readLabel(hold.label) })),
    waiters: waiters.map((waiter) => {
      return { ...waiter, limit: readLimit(waiter.limit), label: readLabel(waiter.label) };
    }),
  };
}
