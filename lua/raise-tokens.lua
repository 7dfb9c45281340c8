-- raise-tokens: for a quorum, tells a server the token that a hold has by the word of all
-- servers, and that tokens it grants from now on have to be larger than those which the
-- hold may use. Without the hold only the latter. Never lowers the counter.
--
-- KEYS[1] lock   hash: owner -> 1, token, since, unclaimed, label; or shares (include/shares.lua)
-- KEYS[2] fence  last fencing token
-- ARGV[1] owner  <client>:<number>
-- ARGV[2] token  of the hold
-- ARGV[3] since  ms
-- ARGV[4] floor  the last token that the hold may use
--
-- Reply: 1 if the owner holds the lock, else 0

-- @include shares

local lock, fence = KEYS[1], KEYS[2]

need_no_memory(lock)
local last = redis.call('SET', fence, ARGV[4], 'GET')
if last and tonumber(last) > tonumber(ARGV[4]) then
  redis.call('SET', fence, last)
end
-- Something else at the lock's name is not held by us.
local mine = redis.pcall('HGET', lock, ARGV[1])
if mine == '1' then
  redis.call('HSET', lock, 'token', ARGV[2], 'since', ARGV[3])
  return 1
end
if type(mine) ~= 'string' then
  return 0
end
local share = decode_share(mine)
share.token, share.since = ARGV[2], ARGV[3]
redis.call('HSET', lock, ARGV[1], encode_share(share))
return 1
