-- reserve: for many locks at once, renews each and reserves fencing tokens for its owner's
-- next holds, which follow each other without a request (P20), or by this one. Claims a
-- pushed grant as renew does, and like it never creates a lock and never shortens a lease.
--
-- KEYS[2i-1] lock   hash: owner -> 1, token, since, unclaimed, label; or shares (include/shares.lua)
-- KEYS[2i]   queue  sorted set: owner by ticket
-- KEYS[#]    fence  last fencing token (shared)
-- ARGV[3i-2] owner   <client>:<number>
-- ARGV[3i-1] lease   ms
-- ARGV[3i]   tokens  how many
--
-- Reply: for each lock {first token, 1 if other clients wait else 0}, or 0 (gone) or -1 (held
-- by someone else)

-- @include clock
-- @include shares
-- @include grant
-- @include queue
-- @include renewal

local replies = {}
for i = 3, #ARGV, 3 do
  local lock, queue, owner = KEYS[i / 3 * 2 - 1], KEYS[i / 3 * 2], ARGV[i - 2]
  local renewed = renew(lock, owner, ARGV[i - 1])
  if renewed == 1 then
    replies[i / 3] = { reserve_tokens(KEYS[#KEYS], tonumber(ARGV[i]), now_us()), others_wait(queue, owner) }
  else
    replies[i / 3] = renewed
  end
end
return replies
