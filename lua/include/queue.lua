-- @include clock

-- Whether a waiter was heard of, as its record has it: always; not when its turn came, since
-- nobody listened; or by a request since then.
local HEARD, UNHEARD, HEARD_AGAIN = 0, 1, 2

-- A waiter's record. It listens by a subscription (p), by a sharded one (s), or by one at any
-- server of the cluster, so that the number of receivers says nothing (a).
local function decode_waiter(text)
  local alive_until, claim, callers, heard, tokens, mode, limit, label, channel =
    string.match(text, '^(%d+) (%d+) (%d+) (%d) (%d+) (%l) (%d+) =(%S*) (.+)$')
  return {
    alive_until = tonumber(alive_until), -- ms
    claim = tonumber(claim), -- lease of a pushed grant, ms
    callers = tonumber(callers), -- how many wait in that process
    heard = tonumber(heard),
    tokens = tonumber(tokens), -- how many to reserve with its grant
    mode = mode,
    limit = tonumber(limit),
    label = label,
    channel = channel,
  }
end

local function write_waiter(waiters, owner, it)
  local alive_until = digits(it.alive_until)
  local facts =
    { alive_until, it.claim, it.callers, it.heard, it.tokens, it.mode, it.limit, '=' .. it.label, it.channel }
  redis.call('HSET', waiters, owner, table.concat(facts, ' '))
end

-- The record of a waiter, or nil.
local function waiter_of(waiters, owner)
  local text = redis.call('HGET', waiters, owner)
  return text and decode_waiter(text) or nil
end

local function leave_queue(queue, waiters, owner)
  redis.call('ZREM', queue, owner)
  redis.call('HDEL', waiters, owner)
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
