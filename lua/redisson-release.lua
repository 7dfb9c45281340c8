-- redisson-release: for many locks at once, frees each that its owner holds and wakes its waiters, or
-- withdraws an owner whose request may still be under way. Never touches other owners' holds.
--
-- KEYS[5i-4] lock      hash: owner -> 1, token, since, unclaimed, label
-- KEYS[5i-3] channel   of unlock messages
-- KEYS[5i-2] gone      sorted set: tombstones of owners
-- KEYS[5i-1] queue     list: waiters of RFairLock
-- KEYS[5i]   timeouts  sorted set: waiter of RFairLock by the time when it gives up, ms
-- ARGV[2i-1] owner      <client>:<number>
-- ARGV[2i]   tombstone  how long to reject late requests of this owner, ms; 0 for not at all
-- ARGV[#]    mode       how clients subscribe here: p, s or a (shared)
--
-- Reply: for each lock 1 (released) or 0 (not held)

-- @include redisson-free
-- @include tombstones

local replies = {}
for i = 1, #KEYS / 5 do
  local k = 5 * i - 5
  local lock, owner, tombstone = KEYS[k + 1], ARGV[2 * i - 1], tonumber(ARGV[2 * i])
  replies[i] = 0
  -- pcall: a value of another type at the lock's name must not fail the other locks.
  if redis.pcall('HEXISTS', lock, owner) == 1 then
    free(lock, KEYS[k + 2], KEYS[k + 4], KEYS[k + 5], ARGV[#ARGV])
    replies[i] = 1
  end
  -- Last: a server that is out of memory rejects a script if its first write needs memory.
  if tombstone > 0 then
    leave_tombstone(KEYS[k + 3], owner, tombstone, clock())
  end
end
return replies
