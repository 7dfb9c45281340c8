-- raise: for a quorum, tells a server the token that a hold has by the word of all
-- servers, and that tokens it grants from now on have to be larger than those which the
-- hold may use. Without the hold only the latter. Never lowers the counter.
--
-- KEYS[1] lock   hash: owner -> 1, token, since, unclaimed
-- KEYS[2] fence  last fencing token
-- ARGV[1] owner  <client uuid>:<number>
-- ARGV[2] token  of the hold
-- ARGV[3] since  ms
-- ARGV[4] floor  the last token that the hold may use
--
-- Reply: 1 if the owner holds the lock, else 0

local lock, fence = KEYS[1], KEYS[2]

local last = redis.call('SET', fence, ARGV[4], 'GET')
if last and tonumber(last) > tonumber(ARGV[4]) then
  redis.call('SET', fence, last)
end
-- Something else at the lock's name is not held by us.
if redis.pcall('HEXISTS', lock, ARGV[1]) ~= 1 then
  return 0
end
redis.call('HSET', lock, 'token', ARGV[2], 'since', ARGV[3])
return 1
