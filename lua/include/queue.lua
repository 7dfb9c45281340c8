-- @include clock

-- Whether a waiter was reachable: always; not when its turn came, since its channel had no
-- subscriber; or not then, but it has polled since.
local HEARD, UNHEARD, HEARD_AGAIN = 0, 1, 2

-- A waiter's record. Its mode is a plain subscription (p), a sharded one (s), or a plain one at any
-- server of the cluster (a), where PUBLISH does not count its receivers. The label ends with '/<permits>'
-- if the waiter wants several.
local function decode_waiter(text)
  local alive_until, claim, callers, heard, tokens, mode, limit, label, channel =
    string.match(text, '^(%d+) (%d+) (%d+) (%d) (%d+) (%l) (%d+) =(%S*) (.+)$')
  return {
    alive_until = tonumber(alive_until), -- ms
    claim = tonumber(claim), -- lease of a pushed grant, ms
    callers = tonumber(callers), -- how many callers of the process wait
    heard = tonumber(heard),
    tokens = tonumber(tokens), -- how many to reserve with the grant
    mode = mode,
    limit = tonumber(limit),
    label = label,
    channel = channel,
  }
end

local function write_waiter(waiters, owner, it)
  local alive_until = digits(it.alive_until)
  local fields =
    { alive_until, it.claim, it.callers, it.heard, it.tokens, it.mode, it.limit, '=' .. it.label, it.channel }
  redis.call('HSET', waiters, owner, table.concat(fields, ' '))
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

-- 1 if another client's owner is in the queue, else 0. Looks at a few first: a client that waits for an
-- exclusive lock has one position, or for a moment two while it withdraws one; a client that waits for a
-- shared lock has one for each caller.
local function others_wait(queue, owner)
  local client, first, last = client_of(owner), 0, 2
  while true do
    local owners = redis.call('ZRANGE', queue, first, last)
    for _, other in ipairs(owners) do
      if client_of(other) ~= client then
        return 1
      end
    end
    if #owners <= last - first then
      return 0
    end
    first, last = last + 1, last + 64
  end
end
