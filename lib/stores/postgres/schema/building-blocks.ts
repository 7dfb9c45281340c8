/**
 * What the requests are made of. All of it runs while the transaction has the advisory lock of the key, so that each
 * statement sees what the transaction before it has committed.
 *
 * @param s the schema, as SQL writes it
 */
export function buildingBlocks(s: string): string {
  const tokens = `${s}.lock_number('tokens of ${s.replace(/'/g, "''")}')`;
  const sequence = `'${s.replace(/'/g, "''")}.tokens'`;
  return `
-- The server's time, µs.
CREATE OR REPLACE FUNCTION ${s}.clock() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$$;

-- What the advisory lock of a key is called. Two keys of one name wait for each other and do no harm.
CREATE OR REPLACE FUNCTION ${s}.lock_number(key text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT hashtextextended(key, 6074331)
$$;

-- Keeps everybody else from these keys until the transaction has ended. In one order, so that nobody waits in a circle.
-- Answers the time since which that is so.
CREATE OR REPLACE FUNCTION ${s}.lock_and_tell_time(keys text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  numbers bigint[];
  number bigint;
BEGIN
  -- A snapshot of before would not show what others did while this transaction waited for the key.
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'locks need transactions that are "read committed", not "%"', current_setting('transaction_isolation')
      USING ERRCODE = 'feature_not_supported';
  END IF;
  IF cardinality(keys) = 1 THEN
    numbers := ARRAY[${s}.lock_number(keys[1])];
  ELSE
    numbers := ARRAY(SELECT DISTINCT ${s}.lock_number(one) FROM unnest(keys) AS one ORDER BY 1);
  END IF;
  FOREACH number IN ARRAY numbers LOOP
    -- Nearly always free, and then an expression: it costs a tenth of a query.
    IF NOT pg_try_advisory_xact_lock(number) THEN
      PERFORM pg_advisory_xact_lock(number);
    END IF;
  END LOOP;
  RETURN ${s}.clock();
END
$$;

-- The first of so many tokens that nobody else gets. They start from the clock, so that they grow when the data was
-- lost; and from the last one, so that they grow when the clock was set back. A sequence does not roll back, and is
-- written to the log before a transaction that has used it has ended.
CREATE OR REPLACE FUNCTION ${s}.reserve_tokens(count integer, now bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  last bigint;
  is_unlocked boolean;
BEGIN
  -- Not until the end of the transaction: all keys share it.
  IF NOT pg_try_advisory_lock(${tokens}) THEN
    PERFORM pg_advisory_lock(${tokens});
  END IF;
  last := setval(${sequence}, greatest(nextval(${sequence}), now) + count - 1);
  is_unlocked := pg_advisory_unlock(${tokens});
  RETURN last - count + 1;
EXCEPTION WHEN OTHERS OR query_canceled THEN
  -- It is the session's, which would keep it: nobody else would ever get a token.
  PERFORM pg_advisory_unlock(${tokens});
  RAISE;
END
$$;

CREATE OR REPLACE FUNCTION ${s}.client_of(owner text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT split_part(owner, ':', 1)
$$;

-- Notifies the client of an owner. A channel's name has at most 63 bytes; the first 22 characters of a client's id are random.
CREATE OR REPLACE FUNCTION ${s}.tell(owner_told text, message text) RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT pg_notify('lock_' || left(split_part(owner_told, ':', 1), 22), message)
$$;

-- Whether another client than the owner's waits for the key.
CREATE OR REPLACE FUNCTION ${s}.others_wait(k text, o text) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT EXISTS (SELECT FROM ${s}.waiters w WHERE w.key = k AND NOT starts_with(w.owner, split_part(o, ':', 1) || ':'))
$$;

-- Whether callers with these limits may use the same key: all of it (1) goes with readers (0).
CREATE OR REPLACE FUNCTION ${s}.agree(one integer, other integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT one = other OR (one < 2 AND other < 2)
$$;

-- Whether one more with that limit may hold a key that so many hold in shares.
CREATE OR REPLACE FUNCTION ${s}.fits(held integer, wanted integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT held = 0 OR wanted = 0 OR (wanted > 1 AND held < wanted)
$$;

-- Forgets the holders whose lease is over. What a renewal has prolonged meanwhile stays: the statement looks again.
-- Answers how many are left, and their limit.
CREATE OR REPLACE FUNCTION ${s}.prune(k text, now bigint, OUT held integer, OUT held_limit integer) LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM ${s}.holds h WHERE h.key = k AND h.ends <= now;
  SELECT count(*), max(h.holders_limit) INTO held, held_limit FROM ${s}.holds h WHERE h.key = k;
END
$$;

-- Writes a hold where there is room for it; its first token.
CREATE OR REPLACE FUNCTION ${s}.grant_hold(
  k text, o text, wanted integer, lease bigint, now bigint, count integer, label text, is_pushed boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  token bigint := ${s}.reserve_tokens(count, now);
BEGIN
  INSERT INTO ${s}.holds VALUES (k, o, wanted, now + lease * 1000, token, now / 1000, is_pushed, label);
  RETURN token;
END
$$;

-- Gives the key, of which so many hold shares, to those who wait, in order, for as long as there is room. A waiter that
-- missed its heartbeats loses its place. Grants are pushed with a short claim lease. \`asking\` is the owner whose request
-- this is: it needs no message, so it is answered without being granted when its turn has come. Answers whether that is
-- so, or nobody is left whom it has to let go first; and how many hold shares then.
CREATE OR REPLACE FUNCTION ${s}.hand_over(
  k text, now bigint, asking text, INOUT held integer, OUT is_turn boolean
) LANGUAGE plpgsql AS $$
DECLARE
  waiter ${s}.waiters;
  token bigint;
BEGIN
  is_turn := false;
  FOR waiter IN SELECT * FROM ${s}.waiters w WHERE w.key = k ORDER BY w.ticket LOOP
    IF waiter.alive_until < now THEN
      DELETE FROM ${s}.waiters w WHERE w.key = k AND w.owner = waiter.owner;
    ELSIF NOT ${s}.fits(held, waiter.holders_limit) THEN
      RETURN;
    ELSIF waiter.owner = asking THEN
      is_turn := true;
      RETURN;
    ELSE
      DELETE FROM ${s}.waiters w WHERE w.key = k AND w.owner = waiter.owner;
      token := ${s}.grant_hold(
        k, waiter.owner, waiter.holders_limit, waiter.claim_lease, now, waiter.tokens, waiter.label, true);
      PERFORM ${s}.tell(waiter.owner, concat_ws(' ', 'granted', waiter.owner, token, now, waiter.claim_lease,
        waiter.tokens, ${s}.others_wait(k, waiter.owner)::integer));
      held := held + 1;
      IF waiter.holders_limit = 1 THEN
        RETURN;
      END IF;
    END IF;
  END LOOP;
  is_turn := true;
END
$$;

-- Serves those who wait if the key has room for them.
CREATE OR REPLACE FUNCTION ${s}.serve(k text, now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  left_over record;
BEGIN
  IF NOT EXISTS (SELECT FROM ${s}.waiters w WHERE w.key = k) THEN
    RETURN;
  END IF;
  left_over := ${s}.prune(k, now);
  IF left_over.held = 0 OR left_over.held_limit <> 1 THEN
    PERFORM ${s}.hand_over(k, now, NULL, left_over.held);
  END IF;
END
$$;

-- Keeps late requests of an owner out. sweep() clears away those that are over.
CREATE OR REPLACE FUNCTION ${s}.leave_tombstone(o text, lifetime bigint, now bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ${s}.tombstones AS t VALUES (o, now + lifetime * 1000)
    ON CONFLICT (owner) DO UPDATE SET ends = greatest(t.ends, excluded.ends);
END
$$;
`;
}
