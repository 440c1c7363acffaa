#!/usr/bin/python3
"""The Python service that Interlude is measured against: the one of the story, with the mistake it
was known for, and without.

    service.py --listen 127.0.0.1:PORT [--guard typed|unconditional] [--read start|per-request]

`--guard unconditional` is the mistake: whenever any action has no posterior, whoever asks, one
structured warning line and one labelled counter increment an action (four). It cannot tell a fixed
policy's caller, who never has any, from one who forgot some. `--guard typed` warns only where the
policy asked reads posteriors. `--read per-request` opens and parses the configuration in every
request; `--read start` once.

Everything else is what such a service has: FastAPI on uvicorn with uvloop and httptools, one worker
process, structlog's JSON on stdout, prometheus_client's labelled metrics. Where there was a choice
that the story does not settle, the faster one was taken: no access log, a coroutine and no thread
pool, an answer that is not validated again, JSON for the configuration and not YAML.
"""

import argparse
import json
import os
import time
import uuid
from datetime import datetime, timezone
from typing import Dict, Optional

import prometheus_client
import structlog
import uvicorn
from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

import policies

HERE = os.path.dirname(os.path.abspath(__file__))

DECISIONS = prometheus_client.Counter(
    "adload_decisions_total", "Decisions made.", ["variant", "segment_id", "action"]
)
MISSING = prometheus_client.Counter(
    "adload_missing_posteriors_total",
    "Actions without a posterior.",
    ["variant", "segment_id", "missing_action", "version"],
)
DURATION = prometheus_client.Histogram(
    "adload_request_duration_seconds", "From handler's start to its end.", ["variant"]
)


class Session(BaseModel):
    elapsed_s: Optional[float] = None
    tracks_played: Optional[int] = None
    seconds_since_last_break_end: Optional[float] = None
    breaks_in_session: Optional[int] = None
    ads_last_hour: Optional[int] = None
    ad_seconds_last_hour: Optional[float] = None
    tier: Optional[str] = None


class DecideRequest(BaseModel):
    request_id: Optional[str] = None
    segment_id: Optional[str] = None
    unit_id: Optional[str] = None
    session_id: Optional[str] = None
    variant: Optional[str] = None
    session: Session = Session()
    posteriors: Optional[Dict[str, Optional[Dict[str, float]]]] = None


def log_open():
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        cache_logger_on_first_use=True,
    )
    return structlog.get_logger()


def state_of(session):
    read = (session.elapsed_s, session.breaks_in_session, session.seconds_since_last_break_end)
    return "partial" if None in read or session.ads_last_hour is None else "complete"


def config_read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def answer_of(config, request, variant, assignment, decided):
    answer = {
        "request_id": request.request_id or uuid.uuid4().hex,
        "decided_at": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        "variant": variant,
        "assignment": assignment,
        "policy": decided.policy,
        "version": config["version"],
        "fingerprint": config["fingerprint"],
        "action": decided.action["name"],
        "ads": decided.action["ads"],
        "cooldown_s": decided.cooldown_s,
        "posteriors": decided.posteriors,
        "state": state_of(request.session),
        "reasons": decided.reasons,
    }
    if request.segment_id is not None:
        answer["segment_id"] = request.segment_id
    if "max_duration_s" in decided.action:
        answer["max_duration_s"] = decided.action["max_duration_s"]
    return answer


def app_of(options):
    app = FastAPI(openapi_url=None)
    log = log_open()
    at_start = config_read(options.config)

    def guard(config, request, variant, segment):
        """The line and the counters that the story is about."""
        if options.guard == "typed" and not policies.reads_posteriors(
            config, config["variants"][variant]
        ):
            return
        missing = policies.missing_of(config, request.posteriors)
        if not missing:
            return
        log.warning(
            "posteriors_missing",
            request_id=request.request_id,
            segment_id=segment,
            variant=variant,
            version=config["version"],
            missing_actions=missing,
        )
        for action in missing:
            MISSING.labels(variant, segment, action, config["version"]).inc()

    @app.post("/v1/decide")
    async def decide(request: DecideRequest):
        start = time.perf_counter()
        config = at_start if options.read == "start" else config_read(options.config)
        variant = request.variant or config["default_variant"]
        assignment = "caller" if request.variant else "default"
        if variant not in config["variants"]:
            variant, assignment = config["default_variant"], "unknown_variant"
        segment = request.segment_id if request.segment_id in config["segments"] else "other"

        guard(config, request, variant, segment)
        decided = policies.decide(config, variant, request.session, request.posteriors)
        answer = answer_of(config, request, variant, assignment, decided)

        DECISIONS.labels(variant, segment, decided.action["name"]).inc()
        DURATION.labels(variant).observe(time.perf_counter() - start)
        return JSONResponse(answer)

    @app.get("/readyz")
    async def readyz():
        return Response("ready\n", media_type="text/plain")

    @app.get("/metrics")
    async def metrics():
        return Response(
            prometheus_client.generate_latest(), media_type=prometheus_client.CONTENT_TYPE_LATEST
        )

    return app


def main():
    parser = argparse.ArgumentParser(description="The Python service of the story.")
    parser.add_argument("--listen", default="127.0.0.1:7072", metavar="HOST:PORT")
    parser.add_argument("--guard", choices=["typed", "unconditional"], default="typed")
    parser.add_argument("--read", choices=["start", "per-request"], default="start")
    parser.add_argument("--config", default=os.path.join(HERE, "config.json"))
    options = parser.parse_args()
    host, _, port = options.listen.rpartition(":")
    uvicorn.run(
        app_of(options),
        host=host,
        port=int(port),
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
    )


main()
