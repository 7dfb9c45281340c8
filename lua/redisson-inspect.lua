-- redisson-inspect: returns what is at the name of a lock, and how many clients listen for its release.
--
-- KEYS[1] lock     hash: owner -> 1, token, since, unclaimed, label; Redisson: <client>:<thread> -> count
-- KEYS[2] channel  of unlock messages
-- ARGV[1] mode  how clients subscribe here: p, s or a
--
-- Reply: {ttl ms, listeners, field, value, field, value, ...}; {} if there is nothing, or a value that is no
-- hash

local lock, channel, mode = KEYS[1], KEYS[2], ARGV[1]
local fields = redis.pcall('HGETALL', lock)
if fields.err or #fields == 0 then
  return {}
end
local listeners = redis.call('PUBSUB', mode == 's' and 'SHARDNUMSUB' or 'NUMSUB', channel)[2]
local reply = { redis.call('PTTL', lock), listeners }
for _, field in ipairs(fields) do
  reply[#reply + 1] = field
end
return reply
