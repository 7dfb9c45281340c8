-- raise-tokens: for a member of a quorum. Writes the token that all members agreed on into the hold,
-- and raises the counter above the tokens that the hold may use, even if the hold is gone. Never lowers
-- the counter.
--
-- KEYS[1] lock   hash: owner -> 1, token, since, unclaimed, label; or shared (include/shared-holds.lua)
-- KEYS[2] fence  last fencing token (shared)
-- ARGV[1] owner  <client>:<number>
-- ARGV[2] token  of the hold
-- ARGV[3] since  of the hold, ms
-- ARGV[4] floor  the last token that the hold may use
-- ARGV[5] granted  the token with which this member granted the hold: one that was granted later stays as it is
--
-- Reply: none

-- @include shared-holds

local lock, fence = KEYS[1], KEYS[2]

begin_without_memory(lock)
local last = redis.call('SET', fence, ARGV[4], 'GET')
if last and tonumber(last) > tonumber(ARGV[4]) then
  redis.call('SET', fence, last)
end
-- pcall: a value of another type at the lock's name is not a hold.
local mine = redis.pcall('HGET', lock, ARGV[1])
if type(mine) ~= 'string' then
  return
end
local hold = mine ~= '1' and decode_hold(mine)
local token = hold and hold.token or redis.call('HGET', lock, 'token')
if tonumber(token) ~= tonumber(ARGV[5]) then
  return
end
if hold then
  hold.token, hold.since = ARGV[2], ARGV[3]
  redis.call('HSET', lock, ARGV[1], encode_hold(hold))
else
  redis.call('HSET', lock, 'token', ARGV[2], 'since', ARGV[3])
end
