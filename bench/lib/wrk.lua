-- Sends the body of the file BENCH_BODY, and prints one line of JSON at the end. With BENCH_VARY
-- set, request_id and unit_id are others in every request.
local file = assert(io.open(os.getenv("BENCH_BODY"), "rb"))
local body = file:read("*a")
file:close()

wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = body

if os.getenv("BENCH_VARY") then
    local count = 0
    function request()
        count = count + 1
        local varied = body:gsub("r%-123", "r-" .. count, 1):gsub("u%-9f2", "u-" .. count, 1)
        return wrk.format(nil, nil, nil, varied)
    end
end

function done(summary, latency, requests)
    local errors = summary.errors
    io.write(string.format(
        '\nRESULT {"requests": %d, "seconds": %.6f, "bytes": %d, "errors": %d}\n',
        summary.requests, summary.duration / 1e6, summary.bytes,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
