-- reserve: for many locks at once, renews each and reserves fencing tokens for the owner's next holds.
-- Like renew, it claims a pushed grant, never creates a lock and never shortens a lease. All owners
-- belong to one client.
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
local replies, wanted = {}, 0
for i = 3, #ARGV, 3 do
  local lock, owner = KEYS[i / 3 * 2 - 1], ARGV[i - 2]
  local renewed = renew(lock, owner, ARGV[i - 1], now)
  replies[i / 3] = renewed
  if renewed == 1 then
    wanted = wanted + tonumber(ARGV[i])
  end
end
if wanted == 0 then
  return replies
end

begin_without_memory(KEYS[1])
-- One step of the counter for all, and one look at each queue, since all owners belong to one client.
local token, others = reserve_tokens(KEYS[#KEYS], wanted, now), {}
for i, reply in ipairs(replies) do
  if reply == 1 then
    local queue = KEYS[2 * i]
    others[queue] = others[queue] or others_wait(queue, ARGV[3 * i - 2])
    replies[i] = { digits(token), others[queue] }
    token = token + tonumber(ARGV[3 * i])
  end
end
return replies
