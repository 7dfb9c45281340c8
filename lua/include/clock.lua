-- The server's clock as whole numbers: `us` for tokens, `ms` for leases. Below 2^53 until 2255.
local function clock()
  local time = redis.call('TIME')
  local us = tonumber(time[1]) * 1000000 + tonumber(time[2])
  return { us = us, ms = math.floor(us / 1000) }
end

-- tostring() would round a 16-digit number.
local function digits(number)
  return string.format('%.0f', number)
end
