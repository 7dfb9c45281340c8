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
-- The indexes of locks with waiters, and of those that are not held exclusively by their owner.
local rest
for i = 1, #ARGV do
  local lock, queue = KEYS[3 * i - 2], KEYS[3 * i - 1]
  -- pcall: a value of another type at the lock's name must not fail the other locks.
  if call('EXISTS', queue) == 0 and redis.pcall('HGET', lock, ARGV[i]) == '1' then
    call('DEL', lock)
  else
    rest = rest or {}
    rest[#rest + 1] = i
  end
end
if not rest then
  return 1
end

-- @include hand-over

local now = clock()
local replies = {}
for i = 1, #ARGV do
  replies[i] = 1
end

local function release(lock, queue, waiters, owner)
  local held = remove_holder(lock, owner, now)
  serve(lock, queue, waiters, KEYS[#KEYS], now)
  return held and 1 or 0
end

-- An error of one lock must not keep the others from being released.
for _, i in ipairs(rest) do
  local done, reply = pcall(release, KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], ARGV[i])
  if not done and type(reply) == 'table' then
    reply = reply.err
  end
  replies[i] = done and reply or tostring(reply)
end
return replies
