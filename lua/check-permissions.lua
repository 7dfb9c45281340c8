-- check-permissions: tries every command of the other scripts on names that do not exist, and tells
-- which of them the server refuses. None of them has an effect, so nothing is written or replicated:
-- health checks run it, too.
--
-- KEYS[1] hash    a name that nobody uses
-- KEYS[2] sorted  another one
-- ARGV[1] mode     how clients listen here: p, s or a (include/queue.lua); empty to publish nothing
-- ARGV[2] channel  of this client
--
-- Reply: {command, error, command, error, ...}

local hash, sorted = KEYS[1], KEYS[2]
local refused = {}

local function try(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    refused[#refused + 1] = (...)
    refused[#refused + 1] = reply.err
  end
end

try('TIME')
try('EXISTS', hash)
try('SET', hash, '1', 'XX', 'PX', '1000', 'GET')
try('DEL', hash)
try('PEXPIRE', hash, '1000')
try('PTTL', hash)
try('HGET', hash, 'field')
try('HMGET', hash, 'field')
try('HLEN', hash)
try('HEXISTS', hash, 'field')
try('HKEYS', hash)
try('HGETALL', hash)
try('HDEL', hash, 'field')
try('ZADD', sorted, 'XX', '1', 'member')
try('ZSCORE', sorted, 'member')
try('ZRANGE', sorted, '0', '0')
try('ZREM', sorted, 'member')
-- HSET has no form without an effect, but fails for a field without a value after the checks of rights and of memory.
local reply = redis.pcall('HSET', hash, 'field', '1', 'no value')
if reply.err and not string.find(reply.err, 'wrong number', 1, true) then
  refused[#refused + 1] = 'HSET'
  refused[#refused + 1] = reply.err
end
if ARGV[1] ~= '' then
  try(ARGV[1] == 's' and 'SPUBLISH' or 'PUBLISH', ARGV[2], 'check')
end
return refused
