-- renew: for many locks at once, renews the lease of each that its owner still holds. Never shortens a
-- lease unless it is negative.
--
-- KEYS[i]    lock   hash: owner -> 1, token, since, unclaimed, label; or shared (include/shared-holds.lua)
-- ARGV[2i-1] owner  <client>:<number>
-- ARGV[2i]   lease  ms; negative to set exactly this lease
--
-- Reply: for each lock 1 (renewed), 0 (gone) or -1 (held by another owner)

-- @include renew

local now = clock()
local replies = {}
for i, lock in ipairs(KEYS) do
  replies[i] = renew(lock, ARGV[2 * i - 1], ARGV[2 * i], now)
end
return replies
