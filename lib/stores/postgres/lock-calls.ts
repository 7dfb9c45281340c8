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
  WallClockMs,
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
    const name = this.nameOf(request.key);
    const words = { do: 'ask', ...this.fieldsOf(request, name) };
    return { keys: [name], request: words, decode: toAcquireReply };
  }

  release(request: OwnerRequest): Call<ReleaseReply> {
    return this.giveBack(request, request.inDoubt);
  }

  /** Withdraws an owner; if in doubt, its late requests are rejected. */
  cancel(request: OwnerRequest): Call<ReleaseReply> {
    return this.giveBack(request, true);
  }

  /** One statement for all. */
  renew(requests: readonly RenewRequest[]): Statement {
    const text = `SELECT ${this.schema}.renew($1::text[], $2::text[], $3::bigint[], $4::boolean[]) AS replies`;
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
    const text = `SELECT coalesce(array_agg(key), '{}') AS replies FROM (
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

  sweep(): Statement {
    return { text: `SELECT ${this.schema}.sweep() AS replies`, values: [] };
  }

  /** @param leaves whether the owner leaves the queue as well */
  private giveBack({ key, owner, inDoubt }: OwnerRequest, leaves: boolean): Call<ReleaseReply> {
    const fields = { owner, leaves, tombstone: inDoubt ? TOMBSTONE_TTL : 0 };
    return { ...this.callOf('give-back', key, fields), isRelease: true };
  }

  private callOf(
    name: string,
    key: string,
    fields: object = {},
  ): { keys: readonly string[]; request: object } {
    const stored = this.nameOf(key);
    return { keys: [stored], request: { do: name, key: stored, ...fields } };
  }

  private fieldsOf(request: AcquireRequest, name: string): object {
    const { owner, lease, wait, claimLease: claim, callers, tokens, limit, permits, label } = request;
    return {
      key: name,
      owner,
      lease,
      wait,
      claim,
      patience: WAITER_TTL,
      callers,
      tokens,
      limit: writtenLimit(limit),
      // JSON omits it; the database defaults to 1.
      permits: permits === 1 ? undefined : permits,
      label: writtenLabel(label),
    };
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

interface AskFields {
  readonly outcome: AcquireReply['outcome'];
  readonly token: number;
  readonly since: number;
  readonly tokens: number;
  readonly othersWait: boolean;
  readonly limit: number;
  readonly left: number | null;
  readonly time: number;
}

function toAcquireReply(reply: unknown): TimedAcquireReply {
  const fields = reply as AskFields;
  const { outcome, token, tokens, othersWait } = fields;
  switch (outcome) {
    case 'granted': {
      const since = fields.since as WallClockMs;
      return { reply: { outcome, token, since, tokens, othersWait }, serverTime: undefined };
    }
    case 'cancelled':
      return { reply: { outcome }, serverTime: undefined };
    case 'conflict':
      return { reply: { outcome, limit: readLimit(fields.limit) }, serverTime: undefined };
    default:
      return { reply: { outcome, holderLeaseLeft: fields.left ?? undefined }, serverTime: fields.time };
  }
}

/** A schema of an earlier version does not count permits. */
interface StoredFields {
  readonly limit: number;
  readonly holders: readonly (Omit<StoredHold, 'leaseLeft' | 'permits' | 'label'> & {
    left: number;
    permits?: number;
    label: string;
  })[];
  readonly waiters: readonly (Omit<StoredWaiter, 'permits' | 'label'> & {
    permits?: number;
    label: string;
  })[];
}

function toStoredLock(reply: unknown): StoredLock | null {
  if (reply === null) return null;
  const { limit, holders, waiters } = reply as StoredFields;
  return {
    limit: readLimit(limit),
    holders: holders.map(({ owner, token, since, left, permits = 1, label }) => {
      return { owner, token, since, leaseLeft: left, permits, label: readLabel(label) };
    }),
    waiters: waiters.map(({ owner, callers, limit: wanted, permits = 1, label }) => {
      return { owner, callers, limit: readLimit(wanted), permits, label: readLabel(label) };
    }),
  };
}
