BEGIN;
SELECT pg_advisory_xact_lock(6074331, 1);
CREATE SCHEMA IF NOT EXISTS "distributed_lock";

CREATE TABLE IF NOT EXISTS "distributed_lock".holds (
  key text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  holders_limit integer NOT NULL,
  ends bigint NOT NULL,
  token bigint NOT NULL,
  since bigint NOT NULL,
  unclaimed boolean NOT NULL,
  label text NOT NULL,
  PRIMARY KEY (key, owner)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE IF NOT EXISTS "distributed_lock".waiters (
  key text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  ticket bigint NOT NULL,
  alive_until bigint NOT NULL,
  claim_lease integer NOT NULL,
  callers integer NOT NULL,
  tokens integer NOT NULL,
  holders_limit integer NOT NULL,
  label text NOT NULL,
  PRIMARY KEY (key, owner)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE IF NOT EXISTS "distributed_lock".tombstones (
  owner text COLLATE "C" PRIMARY KEY,
  ends bigint NOT NULL
);

CREATE UNLOGGED TABLE IF NOT EXISTS "distributed_lock".board (
  name text COLLATE "C" PRIMARY KEY,
  content text NOT NULL,
  ends bigint NOT NULL
);

CREATE SEQUENCE IF NOT EXISTS "distributed_lock".tokens;

-- The server's time, µs.
CREATE OR REPLACE FUNCTION "distributed_lock".clock() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$$;

-- The number of a key's advisory lock. Keys with the same number wait for each other, which does no harm.
CREATE OR REPLACE FUNCTION "distributed_lock".lock_number(key text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT hashtextextended(key, 6074331)
$$;

-- Locks these keys until the transaction ends; always in the same order, to avoid deadlocks. Returns the time since which
-- they are locked.
CREATE OR REPLACE FUNCTION "distributed_lock".lock_and_tell_time(keys text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  numbers bigint[];
  number bigint;
BEGIN
  -- An earlier snapshot would not show what others did while this transaction waited for the key.
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'locks need transactions that are "read committed", not "%"', current_setting('transaction_isolation')
      USING ERRCODE = 'feature_not_supported';
  END IF;
  IF cardinality(keys) = 1 THEN
    numbers := ARRAY["distributed_lock".lock_number(keys[1])];
  ELSE
    numbers := ARRAY(SELECT DISTINCT "distributed_lock".lock_number(one) FROM unnest(keys) AS one ORDER BY 1);
  END IF;
  FOREACH number IN ARRAY numbers LOOP
    -- Nearly always free, and as an expression it costs a tenth of a query.
    IF NOT pg_try_advisory_xact_lock(number) THEN
      PERFORM pg_advisory_xact_lock(number);
    END IF;
  END LOOP;
  RETURN "distributed_lock".clock();
END
$$;

-- Reserves consecutive tokens and returns the first. They continue from the clock, so that they grow after data was lost, and
-- from the last token, so that they grow after the clock was set back. A sequence does not roll back, and is written to the
-- log before a transaction that has used it ends.
CREATE OR REPLACE FUNCTION "distributed_lock".reserve_tokens(count integer, now bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  last bigint;
  is_unlocked boolean;
BEGIN
  -- Not held until the end of the transaction: all keys share it.
  IF NOT pg_try_advisory_lock("distributed_lock".lock_number('tokens of "distributed_lock"')) THEN
    PERFORM pg_advisory_lock("distributed_lock".lock_number('tokens of "distributed_lock"'));
  END IF;
  last := setval('"distributed_lock".tokens', greatest(nextval('"distributed_lock".tokens'), now) + count - 1);
  is_unlocked := pg_advisory_unlock("distributed_lock".lock_number('tokens of "distributed_lock"'));
  RETURN last - count + 1;
EXCEPTION WHEN OTHERS OR query_canceled THEN
  -- The lock belongs to the session, which would keep it: no other session would ever get a token.
  PERFORM pg_advisory_unlock("distributed_lock".lock_number('tokens of "distributed_lock"'));
  RAISE;
END
$$;

-- Notifies an owner's client. A channel's name has at most 63 bytes; the first 22 characters of a client's id are random.
CREATE OR REPLACE FUNCTION "distributed_lock".tell(owner_told text, message text) RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT pg_notify('lock_' || left(split_part(owner_told, ':', 1), 22), message)
$$;

-- Whether other clients than the owner's wait for the key.
CREATE OR REPLACE FUNCTION "distributed_lock".others_wait(k text, o text) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT EXISTS (SELECT FROM "distributed_lock".waiters w WHERE w.key = k AND NOT starts_with(w.owner, split_part(o, ':', 1) || ':'))
$$;

-- Whether callers with these limits may use the same key: writers (1) and readers (0) go together.
CREATE OR REPLACE FUNCTION "distributed_lock".agree(one integer, other integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT one = other OR (one < 2 AND other < 2)
$$;

-- Whether one more owner with that limit may hold a key beside so many readers or permits.
CREATE OR REPLACE FUNCTION "distributed_lock".fits(held integer, wanted integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT held = 0 OR wanted = 0 OR (wanted > 1 AND held < wanted)
$$;

-- Deletes expired holds. One that is renewed meanwhile stays: the statement checks the row again. Returns how many are left,
-- and their limit.
CREATE OR REPLACE FUNCTION "distributed_lock".prune(k text, now bigint, OUT held integer, OUT held_limit integer) LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "distributed_lock".holds h WHERE h.key = k AND h.ends <= now;
  SELECT count(*), max(h.holders_limit) INTO held, held_limit FROM "distributed_lock".holds h WHERE h.key = k;
END
$$;

-- Writes a hold and returns its first token. The caller has checked that there is room.
CREATE OR REPLACE FUNCTION "distributed_lock".grant_hold(
  k text, o text, wanted integer, lease bigint, now bigint, count integer, label text, is_pushed boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  token bigint := "distributed_lock".reserve_tokens(count, now);
BEGIN
  INSERT INTO "distributed_lock".holds VALUES (k, o, wanted, now + lease * 1000, token, now / 1000, is_pushed, label);
  RETURN token;
END
$$;

-- Grants the key, which has `held` holders, to waiters, in order, while there is room. A waiter that missed its heartbeats
-- leaves the queue. Grants are pushed with a short claim lease. `asking` is the owner of this request: when its turn comes
-- the loop stops, since its grant is the reply. Returns whether it is its turn, or no waiter is left; and the new `held`.
CREATE OR REPLACE FUNCTION "distributed_lock".hand_over(
  k text, now bigint, asking text, INOUT held integer, OUT is_turn boolean
) LANGUAGE plpgsql AS $$
DECLARE
  waiter "distributed_lock".waiters;
  token bigint;
BEGIN
  is_turn := false;
  FOR waiter IN SELECT * FROM "distributed_lock".waiters w WHERE w.key = k ORDER BY w.ticket LOOP
    IF waiter.alive_until < now THEN
      DELETE FROM "distributed_lock".waiters w WHERE w.key = k AND w.owner = waiter.owner;
    ELSIF NOT "distributed_lock".fits(held, waiter.holders_limit) THEN
      RETURN;
    ELSIF waiter.owner = asking THEN
      is_turn := true;
      RETURN;
    ELSE
      DELETE FROM "distributed_lock".waiters w WHERE w.key = k AND w.owner = waiter.owner;
      token := "distributed_lock".grant_hold(
        k, waiter.owner, waiter.holders_limit, waiter.claim_lease, now, waiter.tokens, waiter.label, true);
      PERFORM "distributed_lock".tell(waiter.owner, concat_ws(' ', 'granted', waiter.owner, token, now, waiter.claim_lease,
        waiter.tokens, "distributed_lock".others_wait(k, waiter.owner)::integer));
      held := held + 1;
      IF waiter.holders_limit = 1 THEN
        RETURN;
      END IF;
    END IF;
  END LOOP;
  is_turn := true;
END
$$;

-- Serves waiters if the key has room for them.
CREATE OR REPLACE FUNCTION "distributed_lock".serve(k text, now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  left_over record;
BEGIN
  IF NOT EXISTS (SELECT FROM "distributed_lock".waiters w WHERE w.key = k) THEN
    RETURN;
  END IF;
  left_over := "distributed_lock".prune(k, now);
  IF left_over.held = 0 OR left_over.held_limit <> 1 THEN
    PERFORM "distributed_lock".hand_over(k, now, NULL, left_over.held);
  END IF;
END
$$;

-- Rejects late requests of an owner. sweep() deletes expired tombstones.
CREATE OR REPLACE FUNCTION "distributed_lock".leave_tombstone(o text, lifetime bigint, now bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "distributed_lock".tombstones AS t VALUES (o, now + lifetime * 1000)
    ON CONFLICT (owner) DO UPDATE SET ends = greatest(t.ends, excluded.ends);
END
$$;

-- Grants the lock if there is room and no waiter is first; else, if `wait` is set, adds the owner to the queue or keeps it
-- there. Asking again with the same owner returns and claims the grant it already has.
CREATE OR REPLACE FUNCTION "distributed_lock".ask(r jsonb, now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  k text := r->>'key';
  o text := r->>'owner';
  wanted integer := r->>'limit';
  lease bigint := r->>'lease';
  waits boolean := r->>'wait';
  mine "distributed_lock".holds;
  is_refused boolean;
  has_holds boolean;
  has_queue boolean;
  found_held record;
  others_limit integer;
  holding integer := 0;
  is_turn boolean := true;
  is_queued boolean := false;
  token bigint;
BEGIN
  -- In one query. Usually there is nothing, and then it is the only one before the hold is written.
  SELECT EXISTS (SELECT FROM "distributed_lock".tombstones t WHERE t.owner = o), EXISTS (SELECT FROM "distributed_lock".holds h WHERE h.key = k),
      EXISTS (SELECT FROM "distributed_lock".waiters w WHERE w.key = k)
    INTO is_refused, has_holds, has_queue;
  IF is_refused THEN
    RETURN '{"outcome":"cancelled"}';
  END IF;
  IF NOT has_holds AND NOT has_queue THEN
    token := "distributed_lock".grant_hold(k, o, wanted, lease, now, (r->>'tokens')::integer, r->>'label', false);
    RETURN jsonb_build_object('outcome', 'granted', 'token', token, 'since', now / 1000,
      'tokens', (r->>'tokens')::integer, 'othersWait', false);
  END IF;
  found_held := "distributed_lock".prune(k, now);
  IF found_held.held > 0 THEN
    -- A claim sets the lease of a pushed grant exactly; any other lease is never shortened.
    UPDATE "distributed_lock".holds h
      SET ends = CASE WHEN h.unclaimed THEN now + lease * 1000 ELSE greatest(h.ends, now + lease * 1000) END,
        unclaimed = false
      WHERE h.key = k AND h.owner = o RETURNING h.* INTO mine;
    IF FOUND THEN
      -- Tokens that were reserved with an earlier grant are not returned again: they may be in use.
      RETURN jsonb_build_object('outcome', 'granted', 'token', mine.token, 'since', mine.since, 'tokens', 1,
        'othersWait', "distributed_lock".others_wait(k, o));
    END IF;
  END IF;
  IF found_held.held > 0 OR has_queue THEN
    is_queued := EXISTS (SELECT FROM "distributed_lock".waiters w WHERE w.key = k AND w.owner = o);
    -- Waiters agree with each other. A request that does not wait must agree with them as well: they are served first, and
    -- it holds the lock beside them.
    others_limit := coalesce(found_held.held_limit,
      CASE WHEN NOT (waits AND is_queued) THEN
        (SELECT w.holders_limit FROM "distributed_lock".waiters w WHERE w.key = k AND w.alive_until >= now LIMIT 1) END);
    IF others_limit IS NOT NULL AND NOT "distributed_lock".agree(wanted, others_limit) THEN
      DELETE FROM "distributed_lock".waiters w WHERE w.key = k AND w.owner = o;
      PERFORM "distributed_lock".serve(k, now);
      RETURN jsonb_build_object('outcome', 'conflict', 'limit', others_limit);
    END IF;
    IF waits THEN
      INSERT INTO "distributed_lock".waiters AS w VALUES (k, o,
          (SELECT coalesce(max(other.ticket), 0) + 1 FROM "distributed_lock".waiters other WHERE other.key = k),
          now + (r->>'patience')::bigint * 1000, (r->>'claim')::integer, (r->>'callers')::integer,
          (r->>'tokens')::integer, wanted, r->>'label')
        ON CONFLICT (key, owner) DO UPDATE SET alive_until = excluded.alive_until, claim_lease = excluded.claim_lease,
          callers = excluded.callers, tokens = excluded.tokens, holders_limit = excluded.holders_limit,
          label = excluded.label;
      is_queued := true;
    END IF;
    IF found_held.held > 0 AND found_held.held_limit = 1 THEN
      is_turn := false;
    ELSE
      SELECT handed.held, handed.is_turn INTO holding, is_turn
        FROM "distributed_lock".hand_over(k, now, o, found_held.held) AS handed;
    END IF;
  END IF;
  IF is_turn AND "distributed_lock".fits(holding, wanted) THEN
    IF is_queued THEN
      DELETE FROM "distributed_lock".waiters w WHERE w.key = k AND w.owner = o;
    END IF;
    token := "distributed_lock".grant_hold(k, o, wanted, lease, now, (r->>'tokens')::integer, r->>'label', false);
    IF wanted <> 1 AND has_queue THEN
      PERFORM "distributed_lock".hand_over(k, now, NULL, holding + 1);
    END IF;
    RETURN jsonb_build_object('outcome', 'granted', 'token', token, 'since', now / 1000,
      'tokens', (r->>'tokens')::integer, 'othersWait', has_queue AND "distributed_lock".others_wait(k, o));
  END IF;
  -- An exclusive lock needs the last holder's release, a read lock or a permit the first one's.
  RETURN (SELECT jsonb_build_object('outcome', CASE WHEN waits THEN 'queued' ELSE 'busy' END, 'time', now,
      'left', (CASE WHEN wanted = 1 THEN max(h.ends) ELSE min(h.ends) END - now) / 1000)
    FROM "distributed_lock".holds h WHERE h.key = k);
END
$$;

-- Grants several locks to one caller at once: all of them if each has room and no waiters, else none; returns the grants, or
-- the index of the first lock that is not available.
CREATE OR REPLACE FUNCTION "distributed_lock".take_all(r jsonb, now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  names text[] := ARRAY(SELECT value->>'key' FROM jsonb_array_elements(r->'all'));
  refused bigint;
  first_token bigint;
BEGIN
  DELETE FROM "distributed_lock".holds h WHERE h.key = ANY (names) AND h.ends <= now;
  SELECT min(one.n) INTO refused
    FROM jsonb_array_elements(r->'all') WITH ORDINALITY AS one (words, n)
    LEFT JOIN LATERAL (
      SELECT count(*)::integer AS held, max(h.holders_limit) AS held_limit, bool_or(h.owner = one.words->>'owner') AS mine
        FROM "distributed_lock".holds h WHERE h.key = one.words->>'key') AS found_held ON true
    WHERE (found_held.held > 0 AND (found_held.mine OR found_held.held_limit <> (one.words->>'limit')::integer
        OR NOT "distributed_lock".fits(found_held.held, (one.words->>'limit')::integer)))
      OR EXISTS (SELECT FROM "distributed_lock".waiters w WHERE w.key = one.words->>'key')
      OR EXISTS (SELECT FROM "distributed_lock".tombstones t WHERE t.owner = one.words->>'owner');
  IF refused IS NOT NULL THEN
    RETURN to_jsonb(refused - 1);
  END IF;
  first_token := "distributed_lock".reserve_tokens(cardinality(names), now);
  INSERT INTO "distributed_lock".holds
    SELECT one.words->>'key', one.words->>'owner', (one.words->>'limit')::integer,
        now + (one.words->>'lease')::bigint * 1000, first_token + one.n - 1, now / 1000, false, one.words->>'label'
      FROM jsonb_array_elements(r->'all') WITH ORDINALITY AS one (words, n);
  RETURN (SELECT jsonb_agg(jsonb_build_object('token', first_token + n, 'since', now / 1000) ORDER BY n)
    FROM generate_series(0, cardinality(names) - 1) AS n);
END
$$;

-- Releases a held lock and serves waiters. With `leaves`, withdraws an owner whatever state it is in.
CREATE OR REPLACE FUNCTION "distributed_lock".give_back(r jsonb, now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  k text := r->>'key';
  o text := r->>'owner';
  ended bigint;
  has_queue boolean;
BEGIN
  IF (r->>'leaves')::boolean THEN
    DELETE FROM "distributed_lock".waiters w WHERE w.key = k AND w.owner = o;
  END IF;
  DELETE FROM "distributed_lock".holds h WHERE h.key = k AND h.owner = o
    RETURNING h.ends, EXISTS (SELECT FROM "distributed_lock".waiters w WHERE w.key = k) INTO ended, has_queue;
  IF (r->>'tombstone')::bigint > 0 THEN
    PERFORM "distributed_lock".leave_tombstone(o, (r->>'tombstone')::bigint, now);
  END IF;
  IF ended IS NULL OR has_queue THEN
    PERFORM "distributed_lock".serve(k, now);
  END IF;
  RETURN CASE WHEN ended > now THEN '"released"' ELSE '"not-held"' END;
END
$$;

-- Renews a hold. Never creates a hold and never shortens a lease, except that a claim sets the lease of a pushed grant
-- exactly. A lease of 0 only checks whether the owner holds the lock.
CREATE OR REPLACE FUNCTION "distributed_lock".renew_one(k text, o text, lease bigint, exactly boolean, now bigint)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF lease = 0 THEN
    PERFORM FROM "distributed_lock".holds h WHERE h.key = k AND h.owner = o AND h.ends > now;
  ELSE
    UPDATE "distributed_lock".holds h
      SET ends = CASE WHEN exactly OR h.unclaimed THEN now + lease * 1000 ELSE greatest(h.ends, now + lease * 1000) END,
        unclaimed = false
      WHERE h.key = k AND h.owner = o AND h.ends > now;
  END IF;
  IF FOUND THEN
    RETURN 'renewed';
  END IF;
  -- Holders of permits may hold them beside this owner.
  RETURN CASE WHEN EXISTS (
      SELECT FROM "distributed_lock".holds h WHERE h.key = k AND h.holders_limit = 1 AND h.owner <> o AND h.ends > now)
    THEN 'taken' ELSE 'gone' END;
END
$$;

-- Renews many holds in one statement. Rows are locked, not keys: a new holder of a key first deletes expired rows.
CREATE OR REPLACE FUNCTION "distributed_lock".renew(keys text[], owners text[], leases bigint[], exact boolean[])
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  now bigint := "distributed_lock".clock();
  replies text[];
BEGIN
  WITH asked AS (
    SELECT a.* FROM unnest(keys, owners, leases, exact) WITH ORDINALITY AS a (key, owner, lease, exactly, n)
  ), done AS (
    UPDATE "distributed_lock".holds h
      SET ends = CASE WHEN a.exactly OR h.unclaimed THEN now + a.lease * 1000
          ELSE greatest(h.ends, now + a.lease * 1000) END,
        unclaimed = false
      FROM asked a WHERE h.key = a.key AND h.owner = a.owner AND h.ends > now
      RETURNING h.key, h.owner
  )
  SELECT array_agg(
      CASE WHEN done.key IS NOT NULL THEN 'renewed'
        WHEN EXISTS (SELECT FROM "distributed_lock".holds h
          WHERE h.key = a.key AND h.holders_limit = 1 AND h.owner <> a.owner AND h.ends > now) THEN 'taken'
        ELSE 'gone' END ORDER BY a.n)
    INTO replies FROM asked a LEFT JOIN done ON done.key = a.key AND done.owner = a.owner;
  RETURN replies;
END
$$;

-- Renews one hold, and reserves tokens for the holds that follow it in its process.
CREATE OR REPLACE FUNCTION "distributed_lock".reserve(r jsonb, now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  outcome text := "distributed_lock".renew_one(r->>'key', r->>'owner', (r->>'lease')::bigint, (r->>'exactly')::boolean, now);
BEGIN
  IF outcome <> 'renewed' THEN
    RETURN jsonb_build_object('outcome', outcome);
  END IF;
  RETURN jsonb_build_object('outcome', 'reserved', 'token', "distributed_lock".reserve_tokens((r->>'tokens')::integer, now),
    'othersWait', "distributed_lock".others_wait(r->>'key', r->>'owner'));
END
$$;

-- The holders and waiters of a lock, in order; null if it is free.
CREATE OR REPLACE FUNCTION "distributed_lock".inspect(r jsonb, now bigint) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
  SELECT jsonb_build_object('limit', max(h.holders_limit),
      'holders', jsonb_agg(jsonb_build_object('owner', h.owner, 'token', h.token, 'since', h.since,
        'left', (h.ends - now) / 1000, 'label', h.label) ORDER BY h.token),
      'waiters', (SELECT coalesce(jsonb_agg(jsonb_build_object('owner', w.owner, 'callers', w.callers,
          'limit', w.holders_limit, 'label', w.label) ORDER BY w.ticket), '[]')
        FROM "distributed_lock".waiters w WHERE w.key = r->>'key' AND w.alive_until >= now))
    FROM "distributed_lock".holds h WHERE h.key = r->>'key' AND h.ends > now HAVING count(*) > 0
$$;

-- Breaks all holds of a lock, notifies the holders' clients, and serves waiters.
CREATE OR REPLACE FUNCTION "distributed_lock".force_release(r jsonb, now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  broken text;
  was_held boolean := false;
BEGIN
  FOR broken IN SELECT h.owner FROM "distributed_lock".holds h WHERE h.key = r->>'key' AND h.ends > now LOOP
    was_held := true;
    PERFORM "distributed_lock".tell(broken, 'broken ' || broken);
  END LOOP;
  DELETE FROM "distributed_lock".holds h WHERE h.key = r->>'key';
  PERFORM "distributed_lock".serve(r->>'key', now);
  RETURN to_jsonb(was_held);
END
$$;

-- Breaks one hold, named by its owner, its token or both, and nothing else; notifies its client, and serves waiters.
CREATE OR REPLACE FUNCTION "distributed_lock".break_hold(r jsonb, now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  broken text;
BEGIN
  DELETE FROM "distributed_lock".holds h
    WHERE h.key = r->>'key' AND h.ends > now
      AND (NOT r ? 'owner' OR h.owner = r->>'owner') AND (NOT r ? 'token' OR h.token = (r->>'token')::bigint)
    RETURNING h.owner INTO broken;
  IF broken IS NULL THEN
    RETURN to_jsonb(CASE WHEN EXISTS (SELECT FROM "distributed_lock".holds h WHERE h.key = r->>'key' AND h.ends > now)
      THEN 'held-by-others' ELSE 'free' END);
  END IF;
  PERFORM "distributed_lock".tell(broken, 'broken ' || broken);
  PERFORM "distributed_lock".serve(r->>'key', now);
  RETURN to_jsonb('broken'::text);
END
$$;

-- Releases many holds, and serves waiters where there are any. Usually there are none, and then it is one statement for all.
CREATE OR REPLACE FUNCTION "distributed_lock".give_back_all(requests jsonb, now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  replies jsonb;
  k text;
BEGIN
  WITH asked AS (
    SELECT words->>'key' AS key, words->>'owner' AS owner, n
      FROM jsonb_array_elements(requests) WITH ORDINALITY AS one (words, n)
  ), done AS (
    DELETE FROM "distributed_lock".holds h USING asked a WHERE h.key = a.key AND h.owner = a.owner RETURNING h.key, h.owner, h.ends
  )
  SELECT jsonb_agg(CASE WHEN done.ends > now THEN 'released' ELSE 'not-held' END ORDER BY a.n)
    INTO replies FROM asked a LEFT JOIN done ON done.key = a.key AND done.owner = a.owner;
  FOR k IN SELECT DISTINCT w.key FROM "distributed_lock".waiters w
    WHERE w.key IN (SELECT words->>'key' FROM jsonb_array_elements(requests) AS words) LOOP
    PERFORM "distributed_lock".serve(k, now);
  END LOOP;
  RETURN replies;
END
$$;

-- Carries out many requests, in order, in one transaction. `keys` are the keys of all of them.
CREATE OR REPLACE FUNCTION "distributed_lock".run(keys text[], requests jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  now bigint := "distributed_lock".lock_and_tell_time(keys);
  r jsonb;
  reply jsonb;
  replies jsonb := '[]';
BEGIN
  IF jsonb_array_length(requests) > 2
    AND NOT EXISTS (SELECT FROM jsonb_array_elements(requests) AS words
      WHERE words->>'do' <> 'give-back' OR (words->>'leaves')::boolean) THEN
    RETURN "distributed_lock".give_back_all(requests, now);
  END IF;
  FOR i IN 0 .. jsonb_array_length(requests) - 1 LOOP
    r := requests->i;
    CASE r->>'do'
      WHEN 'ask' THEN reply := "distributed_lock".ask(r, now);
      WHEN 'give-back' THEN reply := "distributed_lock".give_back(r, now);
      WHEN 'reserve' THEN reply := "distributed_lock".reserve(r, now);
      WHEN 'take-all' THEN reply := "distributed_lock".take_all(r, now);
      WHEN 'inspect' THEN reply := "distributed_lock".inspect(r, now);
      WHEN 'force-release' THEN reply := "distributed_lock".force_release(r, now);
      WHEN 'break-hold' THEN reply := "distributed_lock".break_hold(r, now);
    END CASE;
    replies := replies || jsonb_build_array(reply);
  END LOOP;
  RETURN replies;
END
$$;

-- Removes what crashed processes have left behind, and serves waiters. One process at a time is enough.
CREATE OR REPLACE FUNCTION "distributed_lock".sweep() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  now bigint := "distributed_lock".clock();
  k text;
  swept integer := 0;
BEGIN
  IF NOT pg_try_advisory_xact_lock("distributed_lock".lock_number('sweep of "distributed_lock"')) THEN
    RETURN 0;
  END IF;
  DELETE FROM "distributed_lock".tombstones t WHERE t.ends < now;
  DELETE FROM "distributed_lock".board b WHERE b.ends < now;
  FOR k IN
    SELECT h.key FROM "distributed_lock".holds h WHERE h.ends <= now
    UNION SELECT w.key FROM "distributed_lock".waiters w WHERE w.alive_until < now
    LIMIT 100
  LOOP
    -- A transaction that has the key now does this itself.
    IF pg_try_advisory_xact_lock("distributed_lock".lock_number(k)) THEN
      PERFORM "distributed_lock".prune(k, now);
      DELETE FROM "distributed_lock".waiters w WHERE w.key = k AND w.alive_until < now;
      PERFORM "distributed_lock".serve(k, now);
      swept := swept + 1;
    END IF;
  END LOOP;
  RETURN swept;
END
$$;

CREATE OR REPLACE FUNCTION "distributed_lock".version() RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT 2 $$;

COMMIT;
