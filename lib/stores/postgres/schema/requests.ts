/**
 * One function for each request beside those that ask for locks. `r` is what `lib/stores/postgres/requests` writes; the
 * answer is what it reads.
 *
 * @param s the schema, as SQL writes it
 */
export function requests(s: string): string {
  return `
-- Gives a held lock, or a share of it, to those who wait. With a tombstone, takes an owner back whatever state it is in.
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
  IF (r->>'tombstone')::bigint > 0 THEN
    PERFORM ${s}.leave_tombstone(o, (r->>'tombstone')::bigint, now);
  END IF;
  IF ended IS NULL OR has_queue THEN
    PERFORM ${s}.serve(k, now);
  END IF;
  RETURN CASE WHEN ended > now THEN '"released"' ELSE '"not-held"' END;
END
$$;

-- Whether the owner still holds the lock, and whoever does if not. Never creates a lock and never shortens a lease
-- otherwise; only the first claim of a pushed grant sets the lease exactly. With 0 it only tells.
CREATE OR REPLACE FUNCTION ${s}.renew_one(k text, o text, lease bigint, exactly boolean, now bigint)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF lease = 0 THEN
    PERFORM FROM ${s}.holds h WHERE h.key = k AND h.owner = o AND h.ends > now;
  ELSE
    UPDATE ${s}.holds h
      SET ends = CASE WHEN exactly OR h.unclaimed THEN now + lease * 1000 ELSE greatest(h.ends, now + lease * 1000) END,
        unclaimed = false
      WHERE h.key = k AND h.owner = o AND h.ends > now;
  END IF;
  IF FOUND THEN
    RETURN 'renewed';
  END IF;
  -- Those who hold shares may hold them beside this owner.
  RETURN CASE WHEN EXISTS (
      SELECT FROM ${s}.holds h WHERE h.key = k AND h.holders_limit = 1 AND h.owner <> o AND h.ends > now)
    THEN 'taken' ELSE 'gone' END;
END
$$;

-- Renews many holds in one statement. Rows are locked, not keys: whoever takes a key over first deletes what is over.
CREATE OR REPLACE FUNCTION ${s}.renew(keys text[], owners text[], leases bigint[], exact boolean[])
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  now bigint := ${s}.clock();
  replies text[];
BEGIN
  WITH asked AS (
    SELECT a.* FROM unnest(keys, owners, leases, exact) WITH ORDINALITY AS a (key, owner, lease, exactly, n)
  ), done AS (
    UPDATE ${s}.holds h
      SET ends = CASE WHEN a.exactly OR h.unclaimed THEN now + a.lease * 1000
          ELSE greatest(h.ends, now + a.lease * 1000) END,
        unclaimed = false
      FROM asked a WHERE h.key = a.key AND h.owner = a.owner AND h.ends > now
      RETURNING h.key, h.owner
  )
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
  outcome text := ${s}.renew_one(r->>'key', r->>'owner', (r->>'lease')::bigint, (r->>'exactly')::boolean, now);
BEGIN
  IF outcome <> 'renewed' THEN
    RETURN jsonb_build_object('outcome', outcome);
  END IF;
  RETURN jsonb_build_object('outcome', 'reserved', 'token', ${s}.reserve_tokens((r->>'tokens')::integer, now),
    'othersWait', ${s}.others_wait(r->>'key', r->>'owner'));
END
$$;

-- Who holds the lock or shares of it, and who waits for it, in order; null if it is free.
CREATE OR REPLACE FUNCTION ${s}.inspect(r jsonb, now bigint) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
  SELECT jsonb_build_object('limit', max(h.holders_limit),
      'holders', jsonb_agg(jsonb_build_object('owner', h.owner, 'token', h.token, 'since', h.since,
        'left', (h.ends - now) / 1000, 'label', h.label) ORDER BY h.token),
      'waiters', (SELECT coalesce(jsonb_agg(jsonb_build_object('owner', w.owner, 'callers', w.callers,
          'limit', w.holders_limit, 'label', w.label) ORDER BY w.ticket), '[]')
        FROM ${s}.waiters w WHERE w.key = r->>'key' AND w.alive_until >= now))
    FROM ${s}.holds h WHERE h.key = r->>'key' AND h.ends > now HAVING count(*) > 0
$$;

-- Breaks the lock whoever holds it or shares of it, tells the holders' clients, and serves those who wait.
CREATE OR REPLACE FUNCTION ${s}.force_release(r jsonb, now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  broken text;
  was_held boolean := false;
BEGIN
  FOR broken IN SELECT h.owner FROM ${s}.holds h WHERE h.key = r->>'key' AND h.ends > now LOOP
    was_held := true;
    PERFORM ${s}.tell(broken, 'broken ' || broken);
  END LOOP;
  DELETE FROM ${s}.holds h WHERE h.key = r->>'key';
  PERFORM ${s}.serve(r->>'key', now);
  RETURN to_jsonb(was_held);
END
$$;

-- Breaks one hold, that of an owner, or with a token, or both, and nothing else; tells its client, and serves those who
-- wait.
CREATE OR REPLACE FUNCTION ${s}.break_hold(r jsonb, now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  broken text;
BEGIN
  DELETE FROM ${s}.holds h
    WHERE h.key = r->>'key' AND h.ends > now
      AND (NOT r ? 'owner' OR h.owner = r->>'owner') AND (NOT r ? 'token' OR h.token = (r->>'token')::bigint)
    RETURNING h.owner INTO broken;
  IF broken IS NULL THEN
    RETURN to_jsonb(CASE WHEN EXISTS (SELECT FROM ${s}.holds h WHERE h.key = r->>'key' AND h.ends > now)
      THEN 'held-by-others' ELSE 'free' END);
  END IF;
  PERFORM ${s}.tell(broken, 'broken ' || broken);
  PERFORM ${s}.serve(r->>'key', now);
  RETURN to_jsonb('broken'::text);
END
$$;

-- Gives back many locks that are held, or shares of them. What comes after others asked for it is served; as a rule nobody
-- has, and then it is one statement, however many they are.
CREATE OR REPLACE FUNCTION ${s}.give_back_all(requests jsonb, now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  replies jsonb;
  k text;
BEGIN
  WITH asked AS (
    SELECT words->>'key' AS key, words->>'owner' AS owner, n
      FROM jsonb_array_elements(requests) WITH ORDINALITY AS one (words, n)
  ), done AS (
    DELETE FROM ${s}.holds h USING asked a WHERE h.key = a.key AND h.owner = a.owner RETURNING h.key, h.owner, h.ends
  )
  SELECT jsonb_agg(CASE WHEN done.ends > now THEN 'released' ELSE 'not-held' END ORDER BY a.n)
    INTO replies FROM asked a LEFT JOIN done ON done.key = a.key AND done.owner = a.owner;
  FOR k IN SELECT DISTINCT w.key FROM ${s}.waiters w
    WHERE w.key IN (SELECT words->>'key' FROM jsonb_array_elements(requests) AS words) LOOP
    PERFORM ${s}.serve(k, now);
  END LOOP;
  RETURN replies;
END
$$;

-- Carries out many requests, in order, in one transaction. \`keys\` are all keys that they are about.
CREATE OR REPLACE FUNCTION ${s}.run(keys text[], requests jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  now bigint := ${s}.lock_and_tell_time(keys);
  r jsonb;
  reply jsonb;
  replies jsonb := '[]';
BEGIN
  IF jsonb_array_length(requests) > 2
    AND NOT EXISTS (SELECT FROM jsonb_array_elements(requests) AS words
      WHERE words->>'do' <> 'give-back' OR (words->>'leaves')::boolean) THEN
    RETURN ${s}.give_back_all(requests, now);
  END IF;
  FOR i IN 0 .. jsonb_array_length(requests) - 1 LOOP
    r := requests->i;
    CASE r->>'do'
      WHEN 'ask' THEN reply := ${s}.ask(r, now);
      WHEN 'give-back' THEN reply := ${s}.give_back(r, now);
      WHEN 'reserve' THEN reply := ${s}.reserve(r, now);
      WHEN 'take-all' THEN reply := ${s}.take_all(r, now);
      WHEN 'inspect' THEN reply := ${s}.inspect(r, now);
      WHEN 'force-release' THEN reply := ${s}.force_release(r, now);
      WHEN 'break-hold' THEN reply := ${s}.break_hold(r, now);
    END CASE;
    replies := replies || jsonb_build_array(reply);
  END LOOP;
  RETURN replies;
END
$$;

-- Removes what crashed processes have left behind, and hands over what has become free. One at a time is enough.
CREATE OR REPLACE FUNCTION ${s}.sweep() RETURNS integer LANGUAGE plpgsql AS $$
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
    -- Whoever has the key at the moment sees to it himself.
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
