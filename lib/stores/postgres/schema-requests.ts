/**
 * The functions for the requests, one for each kind. `lock-calls.ts` writes `r` and reads the result.
 *
 * @param s the schema, as written in SQL
 */
export function requests(s: string): string {
  return `
-- Grants the lock if there is room and no waiter is first; else, if \`wait\` is set, adds the owner to the queue or keeps it
-- there. Asking again with the same owner returns and claims the grant it already has.
CREATE OR REPLACE FUNCTION ${s}.ask(r jsonb, now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  k text := r->>'key';
  o text := r->>'owner';
  wanted integer := r->>'limit';
  needed integer := r->>'permits';
  lease bigint := r->>'lease';
  waits boolean := r->>'wait';
  mine ${s}.holds;
  is_refused boolean;
  has_holds boolean;
  has_queue boolean;
  held integer := 0;
  held_limit integer;
  others_limit integer;
  is_turn boolean := true;
  is_queued boolean := false;
  token bigint;
BEGIN
  -- In one query. Usually there is nothing, and then it is the only one before the hold is written.
  SELECT EXISTS (SELECT FROM ${s}.tombstones t WHERE t.owner = o), EXISTS (SELECT FROM ${s}.holds h WHERE h.key = k),
      EXISTS (SELECT FROM ${s}.waiters w WHERE w.key = k)
    INTO is_refused, has_holds, has_queue;
  IF is_refused THEN
    RETURN '{"outcome":"cancelled"}';
  END IF;
  IF has_holds THEN
    SELECT left_over.held, left_over.held_limit INTO held, held_limit FROM ${s}.prune(k, now) AS left_over;
    -- A claim sets the lease of a pushed grant exactly; any other lease is never shortened.
    UPDATE ${s}.holds h
      SET ends = CASE WHEN h.unclaimed THEN now + lease * 1000 ELSE greatest(h.ends, now + lease * 1000) END,
        unclaimed = false
      WHERE h.key = k AND h.owner = o RETURNING h.* INTO mine;
    IF FOUND THEN
      -- Tokens that were reserved with an earlier grant are not returned again: they may be in use.
      RETURN jsonb_build_object('outcome', 'granted', 'token', mine.token, 'since', mine.since, 'tokens', 1,
        'othersWait', ${s}.others_wait(k, o));
    END IF;
  END IF;
  IF held > 0 OR has_queue THEN
    is_queued := EXISTS (SELECT FROM ${s}.waiters w WHERE w.key = k AND w.owner = o);
    -- Waiters agree with each other. A request that does not wait must agree with them as well: they are served first, and
    -- it holds the lock beside them.
    others_limit := coalesce(held_limit,
      CASE WHEN NOT (waits AND is_queued) THEN
        (SELECT w.holders_limit FROM ${s}.waiters w WHERE w.key = k AND w.alive_until >= now LIMIT 1) END);
    -- Writers (1) and readers (0) go together.
    IF others_limit <> wanted AND (others_limit > 1 OR wanted > 1) THEN
      DELETE FROM ${s}.waiters w WHERE w.key = k AND w.owner = o;
      PERFORM ${s}.serve(k, now);
      RETURN jsonb_build_object('outcome', 'conflict', 'limit', others_limit);
    END IF;
    IF waits THEN
      INSERT INTO ${s}.waiters AS w VALUES (k, o,
          (SELECT coalesce(max(other.ticket), 0) + 1 FROM ${s}.waiters other WHERE other.key = k),
          now + (r->>'patience')::bigint * 1000, (r->>'claim')::integer, (r->>'callers')::integer,
          (r->>'tokens')::integer, wanted, r->>'label', needed)
        ON CONFLICT (key, owner) DO UPDATE SET alive_until = excluded.alive_until, claim_lease = excluded.claim_lease,
          callers = excluded.callers, tokens = excluded.tokens, holders_limit = excluded.holders_limit,
          label = excluded.label, permits = excluded.permits;
      is_queued := true;
    END IF;
    IF held_limit = 1 THEN
      is_turn := false;
    ELSE
      SELECT handed.held, handed.is_turn INTO held, is_turn FROM ${s}.hand_over(k, now, o, held) AS handed;
    END IF;
  END IF;
  IF is_turn AND ${s}.fits(held, wanted, needed) THEN
    IF is_queued THEN
      DELETE FROM ${s}.waiters w WHERE w.key = k AND w.owner = o;
    END IF;
    token := ${s}.grant_hold(k, o, wanted, needed, lease, now, (r->>'tokens')::integer, r->>'label', false);
    IF wanted <> 1 AND has_queue THEN
      PERFORM ${s}.hand_over(k, now, NULL, held + needed);
    END IF;
    RETURN jsonb_build_object('outcome', 'granted', 'token', token, 'since', now / 1000,
      'tokens', (r->>'tokens')::integer, 'othersWait', has_queue AND ${s}.others_wait(k, o));
  END IF;
  -- An exclusive lock needs the last holder's release, a read lock or a permit the first one's, and several permits as many as
  -- are missing.
  RETURN (SELECT jsonb_build_object('outcome', CASE WHEN waits THEN 'queued' ELSE 'busy' END, 'time', now,
      'left', (CASE WHEN wanted = 1 THEN max(h.ends) WHEN needed = 1 THEN min(h.ends) ELSE (
          SELECT min(one.ends)
            FROM (SELECT other.ends, sum(other.permits) OVER (ORDER BY other.ends) AS freed
              FROM ${s}.holds other WHERE other.key = k) AS one
            WHERE held - one.freed + needed <= wanted) END - now) / 1000)
    FROM ${s}.holds h WHERE h.key = k);
END
$$;

-- Releases a held lock and serves waiters. With \`leaves\`, withdraws an owner whatever state it is in.
CREATE OR REPLACE FUNCTION ${s}.give_back(r jsonb, now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  k text := r->>'key';
  o text := r->>'owner';
  ended bigint;
  has_queue boolean;
BEGIN
  IF (r->>'leaves')::boolean THEN
    DELETE FROM ${s}.waiters w WHERE w.key = k AND w.owner = o;
  END IF;
  DELETE FROM ${s}.holds h WHERE h.key = k AND h.owner = o
    RETURNING h.ends, EXISTS (SELECT FROM ${s}.waiters w WHERE w.key = k) INTO ended, has_queue;
  -- A tombstone rejects late requests. sweep() deletes it when it has expired.
  IF (r->>'tombstone')::bigint > 0 THEN
    INSERT INTO ${s}.tombstones AS t VALUES (o, now + (r->>'tombstone')::bigint * 1000)
      ON CONFLICT (owner) DO UPDATE SET ends = greatest(t.ends, excluded.ends);
  END IF;
  IF ended IS NULL OR has_queue THEN
    PERFORM ${s}.serve(k, now);
  END IF;
  RETURN CASE WHEN ended > now THEN '"released"' ELSE '"not-held"' END;
END
$$;

-- Renews many holds in one statement. Never creates a hold and never shortens a lease, except that a claim sets the lease of
-- a pushed grant exactly. A lease of 0 leaves the lease as it is. Rows are locked, not keys: a new holder of a key first
-- deletes expired rows.
CREATE OR REPLACE FUNCTION ${s}.renew(keys text[], owners text[], leases bigint[], exact boolean[])
RETURNS text[] LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  now bigint := ${s}.clock();
  replies text[];
BEGIN
  WITH asked AS (
    SELECT a.* FROM unnest(keys, owners, leases, exact) WITH ORDINALITY AS a (key, owner, lease, exactly, n)
  ), done AS (
    UPDATE ${s}.holds h
      SET ends = CASE WHEN a.lease = 0 THEN h.ends
          WHEN a.exactly OR h.unclaimed THEN now + a.lease * 1000
          ELSE greatest(h.ends, now + a.lease * 1000) END,
        unclaimed = h.unclaimed AND a.lease = 0
      FROM asked a WHERE h.key = a.key AND h.owner = a.owner AND h.ends > now
      RETURNING h.key, h.owner
  )
  -- Holders of permits may hold them beside the owner.
  SELECT array_agg(
      CASE WHEN done.key IS NOT NULL THEN 'renewed'
        WHEN EXISTS (SELECT FROM ${s}.holds h
          WHERE h.key = a.key AND h.holders_limit = 1 AND h.owner <> a.owner AND h.ends > now) THEN 'taken'
        ELSE 'gone' END ORDER BY a.n)
    INTO replies FROM asked a LEFT JOIN done ON done.key = a.key AND done.owner = a.owner;
  RETURN replies;
END
$$;

-- Renews one hold, and reserves tokens for the holds that follow it in its process.
CREATE OR REPLACE FUNCTION ${s}.reserve(r jsonb, now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  outcome text := (${s}.renew(ARRAY[r->>'key'], ARRAY[r->>'owner'], ARRAY[(r->>'lease')::bigint],
    ARRAY[(r->>'exactly')::boolean]))[1];
BEGIN
  IF outcome <> 'renewed' THEN
    RETURN jsonb_build_object('outcome', outcome);
  END IF;
  RETURN jsonb_build_object('outcome', 'reserved', 'token', ${s}.reserve_tokens((r->>'tokens')::integer, now),
    'othersWait', ${s}.others_wait(r->>'key', r->>'owner'));
END
$$;

-- The holders and waiters of a lock, in order; null if it is free.
CREATE OR REPLACE FUNCTION ${s}.inspect(r jsonb, now bigint) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
  SELECT jsonb_build_object('limit', max(h.holders_limit),
      'holders', jsonb_agg(jsonb_build_object('owner', h.owner, 'token', h.token, 'since', h.since,
        'leaseLeft', (h.ends - now) / 1000, 'permits', h.permits, 'label', h.label) ORDER BY h.token),
      'waiters', (SELECT coalesce(jsonb_agg(jsonb_build_object('owner', w.owner, 'callers', w.callers,
          'limit', w.holders_limit, 'permits', w.permits, 'label', w.label) ORDER BY w.ticket), '[]')
        FROM ${s}.waiters w WHERE w.key = r->>'key' AND w.alive_until >= now))
    FROM ${s}.holds h WHERE h.key = r->>'key' AND h.ends > now HAVING count(*) > 0
$$;

-- Breaks one hold, named by its owner, its token or both, or all holds if none is named. Notifies their clients, and serves
-- waiters.
CREATE OR REPLACE FUNCTION ${s}.break_hold(r jsonb, now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  broken text;
  outcome text;
BEGIN
  FOR broken IN DELETE FROM ${s}.holds h
    WHERE h.key = r->>'key' AND h.ends > now
      AND (r->'owner' IS NULL OR h.owner = r->>'owner') AND (r->'token' IS NULL OR h.token = (r->>'token')::bigint)
    RETURNING h.owner LOOP
    outcome := 'broken';
    PERFORM ${s}.tell(broken, 'broken ' || broken);
  END LOOP;
  IF outcome IS NULL THEN
    outcome := CASE WHEN EXISTS (SELECT FROM ${s}.holds h WHERE h.key = r->>'key' AND h.ends > now)
      THEN 'held-by-others' ELSE 'free' END;
  END IF;
  PERFORM ${s}.serve(r->>'key', now);
  RETURN to_jsonb(outcome);
END
$$;

-- Carries out many requests, in order, in one transaction. \`keys\` are the keys of all of them.
--
-- Every lookup is by key or owner. Without statistics PostgreSQL would plan to read whole tables, and a session keeps that plan:
-- a hold would then cost more with each hold since the last VACUUM, and with each lock that is held.
CREATE OR REPLACE FUNCTION ${s}.run(keys text[], requests jsonb) RETURNS jsonb LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  now bigint := ${s}.lock_and_tell_time(keys);
  r jsonb;
  reply jsonb;
  replies jsonb := '[]';
BEGIN
  FOR i IN 0 .. jsonb_array_length(requests) - 1 LOOP
    r := requests->i;
    CASE r->>'do'
      WHEN 'ask' THEN reply := ${s}.ask(r, now);
      WHEN 'give-back' THEN reply := ${s}.give_back(r, now);
      WHEN 'reserve' THEN reply := ${s}.reserve(r, now);
      WHEN 'inspect' THEN reply := ${s}.inspect(r, now);
      WHEN 'break-hold' THEN reply := ${s}.break_hold(r, now);
    END CASE;
    replies := replies || jsonb_build_array(reply);
  END LOOP;
  RETURN replies;
END
$$;

-- Removes what crashed processes have left behind, and serves waiters. One process at a time is enough. It shares the plans of
-- prune() and serve() with run(). It does read whole tables, and must not be compiled for that.
CREATE OR REPLACE FUNCTION ${s}.sweep() RETURNS integer LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
  now bigint := ${s}.clock();
  k text;
  swept integer := 0;
BEGIN
  IF NOT pg_try_advisory_xact_lock(${s}.lock_number('sweep of ${s.replace(/'/g, "''")}')) THEN
    RETURN 0;
  END IF;
  DELETE FROM ${s}.tombstones t WHERE t.ends < now;
  DELETE FROM ${s}.board b WHERE b.ends < now;
  FOR k IN
    SELECT h.key FROM ${s}.holds h WHERE h.ends <= now
    UNION SELECT w.key FROM ${s}.waiters w WHERE w.alive_until < now
    LIMIT 100
  LOOP
    -- A transaction that has the key now does this itself.
    IF pg_try_advisory_xact_lock(${s}.lock_number(k)) THEN
      PERFORM ${s}.prune(k, now);
      DELETE FROM ${s}.waiters w WHERE w.key = k AND w.alive_until < now;
      PERFORM ${s}.serve(k, now);
      swept := swept + 1;
    END IF;
  END LOOP;
  RETURN swept;
END
$$;
`;
}
