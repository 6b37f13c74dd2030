-- SPDX-License-Identifier: BSD-2-Clause
-- Recursion and tables; strings and patterns; coroutines and files.

local function queens(n, row, columns, up, down) -- how many ways to place them
    if row > n then return 1 end
    local found = 0
    for c = 1, n do
        if not (columns[c] or up[row + c] or down[row - c]) then
            columns[c], up[row + c], down[row - c] = true, true, true
            found = found + queens(n, row + 1, columns, up, down)
            columns[c], up[row + c], down[row - c] = nil, nil, nil
        end
    end
    return found
end
print(_VERSION .. ', ' .. arg[1] .. ' queens: ' .. queens(tonumber(arg[1]), 1, {}, {}, {}) .. ' solutions')

local letters, most = {}, {}
for line in io.lines(arg[0]) do
    for letter in line:lower():gmatch('%a') do letters[letter] = (letters[letter] or 0) + 1 end
end
for letter in pairs(letters) do most[#most + 1] = letter end
table.sort(most, function(a, b) return letters[a] > letters[b] end)
print('letters of this script: ' .. table.concat(most, ' ', 1, 3))

local file = assert(io.open('numbers', 'w'))
for i in coroutine.wrap(function() for i = 1, 100 do coroutine.yield(i) end end) do file:write(i, '\n') end
file:close()
local sum = 0
for line in io.lines('numbers') do sum = sum + tonumber(line) end
print('sum of the numbers in a file: ' .. sum)
