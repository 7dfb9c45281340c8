-- redisson-inspect: returns what is at the name of a lock.
--
-- KEYS[1] lock  hash: owner -> 1, token, since, label; Redisson's owners are <client>:<thread> -> count
--
-- Reply: {ttl ms, field, value, field, value, ...}; {} if there is nothing, or a value that is no hash

local fields = redis.pcall('HGETALL', KEYS[1])
if fields.err or #fields == 0 then
  return {}
end
table.insert(fields, 1, redis.call('PTTL', KEYS[1]))
return fields
