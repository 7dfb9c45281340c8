-- release: for many locks at once, releases each that its owner holds: grants it to the first reachable
-- waiters, or deletes it. Never touches other owners' holds.
--
-- KEYS[3i-2] lock     hash: owner -> 1, token, since, unclaimed, label; or shared (include/shared-holds.lua)
-- KEYS[3i-1] queue    sorted set: owner by position
-- KEYS[3i]   waiters  hash: owner -> record (include/queue.lua)
-- KEYS[#]    fence    last fencing token (shared)
-- ARGV[i]    owner    <client>:<number>
--
-- Reply: 1 if all were released; else for each lock 1 (released), 0 (not held), or the error that kept
-- it from being released or granted to a waiter

local call = redis.call
-- Replies other than 1, and the indexes of locks with waiters.
local replies, rest
-- The previous lock, and whether it has waiters.
local last, has_queue
-- For each shared lock, the latest end among the leases removed.
local shared
local now_ms
for i = 1, #ARGV do
  local lock = KEYS[3 * i - 2]
  if lock ~= last then
    last, has_queue = lock, call('EXISTS', KEYS[3 * i - 1]) == 1
  end
  if has_queue then
    rest = rest or {}
    rest[#rest + 1] = i
  else
    -- pcall: a value of another type at the lock's name must not fail the other locks.
    local mine = redis.pcall('HGET', lock, ARGV[i])
    if mine == '1' then
      call('DEL', lock)
    else
      replies = replies or {}
      replies[i] = 0
      if type(mine) == 'string' then
        -- A shared hold (include/shared-holds.lua), which may have expired.
        if not now_ms then
          local time = call('TIME')
          now_ms = time[1] * 1000 + time[2] / 1000
        end
        call('HDEL', lock, ARGV[i])
        local slash = string.find(mine, '/', 1, true)
        if slash and call('HINCRBY', lock, 'extra', 1 - string.sub(mine, slash + 1)) == 0 then
          call('HDEL', lock, 'extra')
        end
        local ends = tonumber(string.match(mine, '^%d+'))
        shared = shared or {}
        shared[lock] = math.max(shared[lock] or 0, ends)
        replies[i] = ends > now_ms and 1 or 0
      end
    end
  end
end
if not (rest or replies) then
  return 1
end

-- @include hand-over

local now = clock()
replies = replies or {}
for lock, ends in pairs(shared or {}) do
  delete_if_empty(lock, ends, now)
end

local function release(lock, queue, waiters, owner)
  local held, is_free = remove_holder(lock, owner, now)
  serve(lock, queue, waiters, KEYS[#KEYS], now, is_free)
  return held and 1 or 0
end

-- An error of one lock must not keep the others from being released.
for _, i in ipairs(rest or {}) do
  local done, reply = pcall(release, KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], ARGV[i])
  if not done and type(reply) == 'table' then
    reply = reply.err
  end
  replies[i] = done and reply or tostring(reply)
end
for i = 1, #ARGV do
  replies[i] = replies[i] or 1
end
return replies
