-- reserve: for many locks at once, renews each and reserves fencing tokens for the owner's next holds.
-- Like renew, it claims a pushed grant, never creates a lock and never shortens a lease.
--
-- KEYS[2i-1] lock   hash: owner -> 1, token, since, unclaimed, label; or shared (include/shared-holds.lua)
-- KEYS[2i]   queue  sorted set: owner by position
-- KEYS[#]    fence  last fencing token (shared)
-- ARGV[3i-2] owner   <client>:<number>
-- ARGV[3i-1] lease   ms; 0 to keep it as it is
-- ARGV[3i]   tokens  how many
--
-- Reply: for each lock {first token, 1 if other clients wait else 0}, 0 (gone) or -1 (held by another
-- owner)

-- @include tokens
-- @include queue
-- @include renew

local now = clock()
local replies = {}
for i = 3, #ARGV, 3 do
  local lock, queue, owner = KEYS[i / 3 * 2 - 1], KEYS[i / 3 * 2], ARGV[i - 2]
  local reply = renew(lock, owner, ARGV[i - 1], now)
  if reply == 1 then
    begin_without_memory(lock)
    local token = reserve_tokens(KEYS[#KEYS], tonumber(ARGV[i]), now)
    reply = { digits(token), others_wait(queue, owner) }
  end
  replies[i / 3] = reply
end
return replies
