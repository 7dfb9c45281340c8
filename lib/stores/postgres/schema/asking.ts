/**
 * What asks for locks. `r` is what `lib/stores/postgres/requests` writes; the answer is what it reads.
 *
 * @param s the schema, as SQL writes it
 */
export function asking(s: string): string {
  return `
-- Takes the lock, or a share of it, if there is room and nobody is before; else, if asked to wait, takes or keeps a place
-- in its queue. Asking again with the same owner answers the grant it already has, and claims it.
CREATE OR REPLACE FUNCTION ${s}.ask(r jsonb, now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  k text := r->>'key';
  o text := r->>'owner';
  wanted integer := r->>'limit';
  lease bigint := r->>'lease';
  waits boolean := r->>'wait';
  mine ${s}.holds;
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
  -- In one query. As a rule there is nothing, and then it is the only one before the hold is written.
  SELECT EXISTS (SELECT FROM ${s}.tombstones t WHERE t.owner = o), EXISTS (SELECT FROM ${s}.holds h WHERE h.key = k),
      EXISTS (SELECT FROM ${s}.waiters w WHERE w.key = k)
    INTO is_refused, has_holds, has_queue;
  IF is_refused THEN
    RETURN '{"outcome":"cancelled"}';
  END IF;
  IF NOT has_holds AND NOT has_queue THEN
    token := ${s}.grant_hold(k, o, wanted, lease, now, (r->>'tokens')::integer, r->>'label', false);
    RETURN jsonb_build_object('outcome', 'granted', 'token', token, 'since', now / 1000,
      'tokens', (r->>'tokens')::integer, 'othersWait', false);
  END IF;
  found_held := ${s}.prune(k, now);
  IF found_held.held > 0 THEN
    -- A pushed grant gets exactly the lease; any other is never shortened.
    UPDATE ${s}.holds h
      SET ends = CASE WHEN h.unclaimed THEN now + lease * 1000 ELSE greatest(h.ends, now + lease * 1000) END,
        unclaimed = false
      WHERE h.key = k AND h.owner = o RETURNING h.* INTO mine;
    IF FOUND THEN
      -- Tokens that were reserved with an earlier grant are not told again: they may be in use.
      RETURN jsonb_build_object('outcome', 'granted', 'token', mine.token, 'since', mine.since, 'tokens', 1,
        'othersWait', ${s}.others_wait(k, o));
    END IF;
  END IF;
  IF found_held.held > 0 OR has_queue THEN
    is_queued := EXISTS (SELECT FROM ${s}.waiters w WHERE w.key = k AND w.owner = o);
    -- Those who wait agree with each other. Also one that does not wait must agree with them: they are served first, and
    -- it beside them.
    others_limit := coalesce(found_held.held_limit,
      CASE WHEN NOT (waits AND is_queued) THEN
        (SELECT w.holders_limit FROM ${s}.waiters w WHERE w.key = k AND w.alive_until >= now LIMIT 1) END);
    IF others_limit IS NOT NULL AND NOT ${s}.agree(wanted, others_limit) THEN
      DELETE FROM ${s}.waiters w WHERE w.key = k AND w.owner = o;
      PERFORM ${s}.serve(k, now);
      RETURN jsonb_build_object('outcome', 'conflict', 'limit', others_limit);
    END IF;
    IF waits THEN
      INSERT INTO ${s}.waiters AS w VALUES (k, o,
          (SELECT coalesce(max(other.ticket), 0) + 1 FROM ${s}.waiters other WHERE other.key = k),
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
        FROM ${s}.hand_over(k, now, o, found_held.held) AS handed;
    END IF;
  END IF;
  IF is_turn AND ${s}.fits(holding, wanted) THEN
    IF is_queued THEN
      DELETE FROM ${s}.waiters w WHERE w.key = k AND w.owner = o;
    END IF;
    token := ${s}.grant_hold(k, o, wanted, lease, now, (r->>'tokens')::integer, r->>'label', false);
    IF wanted <> 1 AND has_queue THEN
      PERFORM ${s}.hand_over(k, now, NULL, holding + 1);
    END IF;
    RETURN jsonb_build_object('outcome', 'granted', 'token', token, 'since', now / 1000,
      'tokens', (r->>'tokens')::integer, 'othersWait', has_queue AND ${s}.others_wait(k, o));
  END IF;
  -- For all of the lock the last holder has to let go, for a share the first.
  RETURN (SELECT jsonb_build_object('outcome', CASE WHEN waits THEN 'queued' ELSE 'busy' END, 'time', now,
      'left', (CASE WHEN wanted = 1 THEN max(h.ends) ELSE min(h.ends) END - now) / 1000)
    FROM ${s}.holds h WHERE h.key = k);
END
$$;

-- Grants several locks to one caller at once: all of them if each has room and nobody waits for it, else none; then the
-- index of the first that can't be had.
CREATE OR REPLACE FUNCTION ${s}.take_all(r jsonb, now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  names text[] := ARRAY(SELECT value->>'key' FROM jsonb_array_elements(r->'all'));
  refused bigint;
  first_token bigint;
BEGIN
  DELETE FROM ${s}.holds h WHERE h.key = ANY (names) AND h.ends <= now;
  SELECT min(one.n) INTO refused
    FROM jsonb_array_elements(r->'all') WITH ORDINALITY AS one (words, n)
    LEFT JOIN LATERAL (
      SELECT count(*)::integer AS held, max(h.holders_limit) AS held_limit, bool_or(h.owner = one.words->>'owner') AS mine
        FROM ${s}.holds h WHERE h.key = one.words->>'key') AS found_held ON true
    WHERE (found_held.held > 0 AND (found_held.mine OR found_held.held_limit <> (one.words->>'limit')::integer
        OR NOT ${s}.fits(found_held.held, (one.words->>'limit')::integer)))
      OR EXISTS (SELECT FROM ${s}.waiters w WHERE w.key = one.words->>'key')
      OR EXISTS (SELECT FROM ${s}.tombstones t WHERE t.owner = one.words->>'owner');
  IF refused IS NOT NULL THEN
    RETURN to_jsonb(refused - 1);
  END IF;
  first_token := ${s}.reserve_tokens(cardinality(names), now);
  INSERT INTO ${s}.holds
    SELECT one.words->>'key', one.words->>'owner', (one.words->>'limit')::integer,
        now + (one.words->>'lease')::bigint * 1000, first_token + one.n - 1, now / 1000, false, one.words->>'label'
      FROM jsonb_array_elements(r->'all') WITH ORDINALITY AS one (words, n);
  RETURN (SELECT jsonb_agg(jsonb_build_object('token', first_token + n, 'since', now / 1000) ORDER BY n)
    FROM generate_series(0, cardinality(names) - 1) AS n);
END
$$;
`;
}
