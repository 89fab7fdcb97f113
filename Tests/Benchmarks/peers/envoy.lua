-- Checks recipient and message, and rewrites the call for the backend. Envoy has no JSON module for Lua: the message is one JSON
-- string, which a few patterns decode and encode.
local unescaped = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }
local escaped = {
  ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ['"'] = '\\"', ["\\"] = "\\\\" }
for code = 0, 31 do
  local character = string.char(code)
  escaped[character] = escaped[character] or ("\\u%04x"):format(code)
end

-- Returns the UTF-8 bytes of a code point.
local function utf8(code)
  if code < 0x80 then return string.char(code) end
  if code < 0x800 then return string.char(0xC0 + math.floor(code / 64), 0x80 + code % 64) end
  local low, middle = 0x80 + code % 64, 0x80 + math.floor(code / 64) % 64
  if code < 0x10000 then return string.char(0xE0 + math.floor(code / 4096), middle, low) end
  return string.char(0xF0 + math.floor(code / 262144), 0x80 + math.floor(code / 4096) % 64, middle, low)
end

-- Returns the text of a JSON string; nil if it is not one.
local function decode(json)
  local text = json:match('^%s*"([^%z\1-\31]*)"%s*$')
  if not text then return nil end
  if not text:find('[\\"]') then return text end
  local parts, position = {}, 1
  while true do
    local found = text:find('[\\"]', position)
    if not found then break end
    if text:byte(found) == 34 then return nil end
    parts[#parts + 1] = text:sub(position, found - 1)
    local kind = text:sub(found + 1, found + 1)
    if kind == "u" then
      local high = tonumber(text:match("^%x%x%x%x", found + 2) or "", 16)
      if not high then return nil end
      position = found + 6
      if high >= 0xD800 and high < 0xE000 then
        local low = tonumber(text:match("^\\u(%x%x%x%x)", position) or "", 16)
        if high >= 0xDC00 or not low or low < 0xDC00 or low > 0xDFFF then return nil end
        high, position = 0x10000 + (high - 0xD800) * 1024 + low - 0xDC00, position + 6
      end
      parts[#parts + 1] = utf8(high)
    elseif unescaped[kind] then
      parts[#parts + 1], position = unescaped[kind], found + 2
    else
      return nil
    end
  end
  return table.concat(parts) .. text:sub(position)
end

-- Returns the text as in a JSON string, without the quotation marks.
local function encode(text) return (text:gsub('[%z\1-\31"\\]', escaped)) end

local function parameters(path)
  local found = {}
  for name, value in (path:match("%?(.*)") or ""):gmatch("([^&=]+)=([^&]*)") do
    found[name] = value:gsub("+", " "):gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end)
  end
  return found
end

function envoy_on_request(handle)
  local user = handle:streamInfo():dynamicMetadata():get("envoy.filters.http.jwt_authn").claims.sub
  local query = parameters(handle:headers():get(":path"))
  local to, pns = query.to_tag, query.pns
  if not to or #to > 111 or not to:match("^[%w_@.-]+$") or not pns or not pns:match("^%w+$") then
    return handle:respond({ [":status"] = "400" }, "")
  end
  -- Waits for the whole body. What other functions of the handle returned before is invalid afterwards.
  local body = handle:body()
  local text = body and decode(body:getBytes(0, body:length()))
  if not text then return handle:respond({ [":status"] = "400" }, "") end
  -- Encode twice: for the push payload and for the request body.
  body:setBytes('"' .. encode(encode(text)) .. '"')
  local headers = handle:headers()
  headers:replace(":path", "/api/notifications?pns=" .. pns:lower() .. "&to_tag=" .. to:lower())
  headers:replace("authorization", "Basic " .. handle:base64Escape(user .. ":" .. user))
end
