-- cancel: takes an owner back whatever state it is in: queued, granted, or (with
-- a tombstone) still under way (P32).
--
-- KEYS[1] lock     hash: owner -> 1, token, since, unclaimed, label; or shares (include/shares.lua)
-- KEYS[2] queue    sorted set: owner by ticket
-- KEYS[3] waiters  hash: owner -> alive until, claim lease, callers, missed, tokens, way, limit, label, channel
-- KEYS[4] gone     tombstone of this owner
-- KEYS[5] fence    last fencing token
-- ARGV[1] owner      <client>:<number>
-- ARGV[2] tombstone  ms to keep a late request of this owner out, 0 for none
--
-- Reply: 'cancelled'

-- @include clock
-- @include shares
-- @include grant
-- @include queue
-- @include hand-over

local lock, queue, waiters, gone, fence = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local now = now_us()

leave_queue(queue, waiters, ARGV[1])
local _, is_free = let_go(lock, ARGV[1], now)

-- After the lock is free: a server that is out of memory refuses a script whose first write needs some.
if ARGV[2] ~= '0' then
  redis.call('SET', gone, '1', 'PX', ARGV[2])
end

if redis.call('EXISTS', queue) == 1 then
  serve(lock, queue, waiters, fence, now, is_free)
end
return 'cancelled'
