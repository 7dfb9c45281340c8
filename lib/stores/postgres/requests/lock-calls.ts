import type {
  AskRequest,
  BreakReply,
  Grant,
  ListedKeys,
  ListKeysRequest,
  NamedHold,
  OwnerRequest,
  ReserveRequest,
  ReleaseReply,
  RenewRequest,
  ReserveReply,
  StoredLock,
} from '../../port/lock-store.js';
import { isKey } from '../../../model/lock-key.js';
import { checkCursor } from '../../port/store-failure.js';
import { Glob } from '../../../common/glob.js';
import { writtenLabel, writtenLimit } from '../../port/limits.js';
import type { TimedAskReply } from '../../port/pushed-grants.js';
import { TOMBSTONE_TTL, WAITER_TTL } from '../../port/times.js';
import type { Row, Statement } from '../connection/postgres-connection.js';
import { quoted } from '../schema/migration.js';
import {
  toAskReply,
  toBreakReply,
  toReleaseReply,
  toReserveReply,
  toStoredLock,
  toTakeAllReply,
} from './replies.js';
import type { Call } from './request-queue.js';

/** Says requests of the port as calls of the functions in the database. */
export class LockCalls {
  private readonly schema: string;

  /** @param prefix what the names of locks start with */
  constructor(
    schema: string,
    private readonly prefix: string,
  ) {
    this.schema = quoted(schema);
  }

  /** The statement that carries out calls. */
  run(keys: readonly string[], words: string): Statement {
    const text = `SELECT ${this.schema}.run($1::text[], $2::jsonb) AS replies`;
    return { name: 'lock-run', text, values: [keys, words] };
  }

  ask(request: AskRequest): Call<TimedAskReply> {
    return {
      keys: [this.nameOf(request.key)],
      words: { do: 'ask', ...this.wordsOf(request) },
      decode: toAskReply,
    };
  }

  takeAll(requests: readonly AskRequest[]): Call<readonly Grant[] | number> {
    return {
      keys: requests.map(({ key }) => this.nameOf(key)),
      words: { do: 'take-all', all: requests.map((request) => this.wordsOf(request)) },
      decode: toTakeAllReply,
    };
  }

  release({ key, owner, inDoubt }: OwnerRequest): Call<ReleaseReply> {
    return this.giveBack(key, owner, inDoubt, inDoubt);
  }

  /** Takes an owner back, and if in doubt so that its late requests are refused. */
  cancel({ key, owner, inDoubt }: OwnerRequest): Call<ReleaseReply> {
    return this.giveBack(key, owner, true, inDoubt);
  }

  /** In one statement, however many they are. */
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

  reserve({ key, owner, lease, tokens, exactly = false }: ReserveRequest): Call<ReserveReply> {
    const name = this.nameOf(key);
    const words = { do: 'reserve', key: name, owner, lease, tokens, exactly };
    return { keys: [name], words, decode: toReserveReply };
  }

  inspect(key: string): Call<StoredLock | null> {
    const name = this.nameOf(key);
    return { keys: [name], words: { do: 'inspect', key: name }, decode: toStoredLock };
  }

  /**
   * In the order of the names as they are written, of which the last one says where to go on. The database compares only
   * the start of the pattern, so that no pattern has it look at more names than `count`.
   */
  listKeys({ match, cursor = '', count }: ListKeysRequest): Statement {
    const { schema } = this;
    checkCursor(cursor === '' || this.isName(cursor));
    const text = `SELECT coalesce(array_agg(key), '{}') AS replies FROM (
      SELECT DISTINCT h.key FROM ${schema}.holds h
       WHERE h.key > $1 AND h.key LIKE $2 ESCAPE '!' AND h.ends > ${schema}.clock() ORDER BY h.key LIMIT $3) AS listed`;
    return { text, values: [cursor, `${literal(this.nameOf(new Glob(match).head))}%`, count] };
  }

  toListedKeys(rows: readonly Row[], { match, count }: ListKeysRequest): ListedKeys {
    const names = (rows[0]?.['replies'] ?? []) as readonly string[];
    const cursor = names.length < count ? undefined : names.at(-1);
    const glob = new Glob(match);
    return { keys: names.map((name) => this.keyOf(name)).filter((key) => glob.matches(key)), cursor };
  }

  forceRelease(key: string): Call<boolean> {
    const name = this.nameOf(key);
    return {
      keys: [name],
      words: { do: 'force-release', key: name },
      decode: (reply) => reply === true,
    };
  }

  breakHold(key: string, { owner, token }: NamedHold): Call<BreakReply> {
    const name = this.nameOf(key);
    // What is undefined is not written, and not compared.
    const words = { do: 'break-hold', key: name, owner, token };
    return { keys: [name], words, decode: toBreakReply };
  }

  sweep(): Statement {
    return { text: `SELECT ${this.schema}.sweep() AS replies`, values: [] };
  }

  private giveBack(key: string, owner: string, leaves: boolean, inDoubt: boolean): Call<ReleaseReply> {
    const name = this.nameOf(key);
    const words = { do: 'give-back', key: name, owner, leaves, tombstone: inDoubt ? TOMBSTONE_TTL : 0 };
    return { keys: [name], words, decode: toReleaseReply, givesBack: true };
  }

  private wordsOf(request: AskRequest): object {
    const { key, owner, lease, wait, claimLease: claim, callers, tokens, limit, label } = request;
    return {
      key: this.nameOf(key),
      owner,
      lease,
      wait,
      claim,
      patience: WAITER_TTL,
      callers,
      tokens,
      limit: writtenLimit(limit),
      label: writtenLabel(label),
    };
  }

  /** Whether it is that of a lock. */
  private isName(name: string): boolean {
    const key = this.keyOf(name);
    return isKey(key) && this.nameOf(key) === name;
  }

  private keyOf(name: string): string {
    const key = name.slice(this.nameOf('').length);
    return key.replace(/\\[\\0]/g, (escaped) => (escaped === '\\0' ? '\0' : '\\'));
  }

  /** What PostgreSQL can't have in a text is written otherwise, and no two keys are written alike. */
  private nameOf(key: string): string {
    return (this.prefix + key).replace(/[\\\0]/g, (character) => (character === '\0' ? '\\0' : '\\\\'));
  }
}

/** A text that stands for itself in a pattern of LIKE. */
function literal(text: string): string {
  return text.replace(/[%_!]/g, '!$&');
}
