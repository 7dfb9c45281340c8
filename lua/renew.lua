-- renew: for many locks at once, gives each at least its lease again if its owner still
-- holds it or a share of it.
--
-- KEYS[i]    lock   hash: owner -> 1, token, since, unclaimed, label; or shares (include/shares.lua)
-- ARGV[2i-1] owner  <client>:<number>
-- ARGV[2i]   lease  ms, negative to set exactly this lease
--
-- Reply: for each lock 1 (renewed), 0 (gone) or -1 (held by someone else)

-- @include renew

local replies = {}
for i, lock in ipairs(KEYS) do
  replies[i] = renew(lock, ARGV[2 * i - 1], ARGV[2 * i])
end
return replies
