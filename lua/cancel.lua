-- cancel: withdraws an owner in any state: queued, holding the lock, or (with a tombstone) with a
-- request still under way.
--
-- KEYS[1] lock        hash: owner -> 1, token, since, unclaimed, label; or shared (include/shared-holds.lua)
-- KEYS[2] queue       sorted set: owner by position
-- KEYS[3] waiters     hash: owner -> record (include/queue.lua)
-- KEYS[4] tombstones  sorted set: tombstones of owners (shared)
-- KEYS[5] fence       last fencing token (shared)
-- ARGV[1] owner      <client>:<number>
-- ARGV[2] tombstone  how long to reject late requests of this owner, ms; 0 for not at all
--
-- Reply: 1 if the owner held the lock, else 0

-- @include hand-over
-- @include tombstones

local lock, queue, waiters, tombstones, fence = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner, tombstone = ARGV[1], tonumber(ARGV[2])
local now = clock()

leave_queue(queue, waiters, owner)
local held = remove_holder(lock, owner, now)

-- Last: a server that is out of memory rejects a script if its first write needs memory.
if tombstone > 0 then
  leave_tombstone(tombstones, owner, tombstone, now)
end

serve(lock, queue, waiters, fence, now)
return held and 1 or 0
