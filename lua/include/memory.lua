-- A server that is out of memory refuses a script whose first write needs some. What only
-- keeps or ends a hold is to get through: it begins with a write that needs none and does nothing.
local function need_no_memory(lock)
  redis.pcall('HDEL', lock, '')
end
