-- reserve: renews one lock and reserves fencing tokens for its owner's next holds,
-- which follow each other without a request (P20). Claims a pushed grant as renew
-- does, and like it never creates a lock and never shortens a lease.
--
-- KEYS[1] lock   hash: owner -> 1, token, since, unclaimed, label; or shares (include/shares.lua)
-- KEYS[2] queue  sorted set: owner by ticket
-- KEYS[3] fence  last fencing token
-- ARGV[1] owner   <client>:<number>
-- ARGV[2] lease   ms
-- ARGV[3] tokens  how many
--
-- Reply: {first token, 1 if other clients wait else 0}, or 0 (gone) or -1 (held by someone else)

-- @include clock
-- @include shares
-- @include grant
-- @include queue
-- @include renewal

local lock, queue, fence = KEYS[1], KEYS[2], KEYS[3]

local renewed = renew(lock, ARGV[1], ARGV[2])
if renewed < 1 then
  return renewed
end
return { reserve_tokens(fence, tonumber(ARGV[3]), now_us()), others_wait(queue, ARGV[1]) }
