-- A waiter's place: its ticket in the sorted set, and in the hash
-- '<alive until, ms> <claim lease, ms> <callers waiting in that process> <0, or 1 when
-- it was passed over as nobody listened, or 2 when it has asked again since> <tokens to
-- reserve with its grant> <how it listens> <limit> =<label> <its channel>'. It listens by a
-- subscription (p), by a sharded one (s), or by one at any server of the cluster, so that the
-- number of receivers says nothing (a).
local function leave_queue(queue, waiters, owner)
  redis.call('ZREM', queue, owner)
  redis.call('HDEL', waiters, owner)
end

local function waiter_facts(waiters, owner)
  local facts = redis.call('HGET', waiters, owner)
  if not facts then
    return 0, 0, 0, 0, 1, 'p', 1, '', ''
  end
  local alive_until, claim, callers, missed, tokens, way, limit, label, channel =
    string.match(facts, '^(%d+) (%d+) (%d+) (%d) (%d+) (%l) (%d+) =(%S*) (.+)$')
  return tonumber(alive_until),
    tonumber(claim),
    tonumber(callers),
    tonumber(missed),
    tonumber(tokens),
    way,
    tonumber(limit),
    label,
    channel
end

local function client_of(owner)
  return string.match(owner, '^[^:]+')
end

-- 1 if one of these places is another client's, else 0.
local function others_among(places, client)
  for _, waiter in ipairs(places) do
    if client_of(waiter) ~= client then
      return 1
    end
  end
  return 0
end

-- 1 if a client other than the owner's has a place in the queue, else 0, given the first
-- three places from its own on. Who waits for all of a lock has one place, or for a moment
-- two while it withdraws one; who waits for shares has as many as there are callers.
local function others_beside(queue, places, owner)
  local client = client_of(owner)
  local others, first = others_among(places, client), 0
  local are_more = #places == 3
  while others == 0 and are_more do
    places = redis.call('ZRANGE', queue, first, first + 63)
    others, are_more = others_among(places, client), #places == 64
    first = first + 64
  end
  return others
end

-- The same, of a place that need not be there.
local function others_wait(queue, owner)
  return others_beside(queue, redis.call('ZRANGE', queue, 0, 2), owner)
end
