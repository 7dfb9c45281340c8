-- release: for many locks at once, hands each that its owner holds, or its share of it,
-- to the first living waiters, else deletes it. Never touches what someone else holds.
--
-- KEYS[4i-3] lock     hash: owner -> 1, token, since, unclaimed, label; or shares (include/shares.lua)
-- KEYS[4i-2] queue    sorted set: owner by ticket
-- KEYS[4i-1] waiters  hash: owner -> alive until, claim lease, callers, missed, tokens, way, limit, label, channel
-- KEYS[4i]   gone     tombstone of this owner
-- KEYS[#]    fence    last fencing token (shared)
-- ARGV[2i-1] owner      <client>:<number>
-- ARGV[2i]   tombstone  ms to keep a late request of this owner out, 0 for none
--
-- Reply: for each lock 1 (released), 2 (handed over), 0 (not held), or the text of the
-- error that kept it from being released, or from being handed over

local call = redis.call
local replies, rest, now = {}, nil, nil
-- The lock before, whether anybody waits for it, and whether shares of it were released.
local last, has_queue, is_shared
for i = 1, #ARGV / 2 do
  local lock = KEYS[4 * i - 3]
  if lock ~= last then
    if is_shared and call('HLEN', last) == 2 then
      call('DEL', last)
    end
    last, is_shared, has_queue = lock, false, call('EXISTS', KEYS[4 * i - 2]) == 1
  end
  if ARGV[2 * i] == '0' and not has_queue then
    -- Nobody waits: the path of every lock that nobody contends for.
    -- Something else at the lock's name is not held by us, and no matter of the other locks.
    local mine = redis.pcall('HGET', lock, ARGV[2 * i - 1])
    if mine == '1' then
      call('DEL', lock)
      replies[i] = 1
    elseif type(mine) ~= 'string' then
      replies[i] = 0
    else
      -- One of its shares (include/shares.lua), which may be over.
      if not now then
        local time = call('TIME')
        now = time[1] * 1000 + time[2] / 1000
      end
      call('HDEL', lock, ARGV[2 * i - 1])
      is_shared = true
      replies[i] = tonumber(string.match(mine, '^%d+')) > now and 1 or 0
    end
  end
  if not replies[i] then
    rest = rest or {}
    rest[#rest + 1] = i
  end
end
if is_shared and call('HLEN', last) == 2 then
  call('DEL', last)
end
if not rest then
  return replies
end

-- @include clock
-- @include shares
-- @include grant
-- @include queue
-- @include hand-over

local function release(lock, queue, waiters, gone, owner, tombstone)
  local now = now_us()
  local held, is_free = let_go(lock, owner, now)
  -- After the lock is free: a server that is out of memory refuses a script whose first write needs some.
  if tombstone ~= '0' then
    -- A late request of this owner may have come before this one.
    leave_queue(queue, waiters, owner)
    redis.call('SET', gone, '1', 'PX', tombstone)
  end
  local next_owner = serve(lock, queue, waiters, KEYS[#KEYS], now, is_free)
  return held and (next_owner and 2 or 1) or 0
end

-- One lock's trouble must not end the script: the others have been released, or are to be.
for _, i in ipairs(rest) do
  local k = 4 * i
  local done, reply =
    pcall(release, KEYS[k - 3], KEYS[k - 2], KEYS[k - 1], KEYS[k], ARGV[2 * i - 1], ARGV[2 * i])
  if not done and type(reply) == 'table' then
    reply = reply.err
  end
  replies[i] = done and reply or tostring(reply)
end
return replies
