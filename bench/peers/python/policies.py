"""Decisions of the Python service: guardrails, a fixed policy of ordered rules, and Thompson
sampling.

A fixed policy sends and reads no posteriors: that is its design, and no caller of one has any to
send.
"""

import random


class Decided:
    """What a policy answers: the action's description, how long to wait, and why."""

    __slots__ = ("action", "cooldown_s", "policy", "posteriors", "reasons")

    def __init__(self, action, cooldown_s, policy, posteriors, reasons):
        self.action = action
        self.cooldown_s = cooldown_s
        self.policy = policy
        self.posteriors = posteriors
        self.reasons = reasons


def missing_of(config, posteriors):
    """The plan's actions without a posterior, in plan order."""
    sent = posteriors or {}
    return [a["name"] for a in config["actions"] if not sent.get(a["name"])]


def reads_posteriors(config, policy):
    return config["policies"][policy]["kind"] == "thompson"


def mask(config, session):
    """The actions that the guardrails leave, and the guardrails that took one away.

    The plan lists the actions by their ads, the one without any first."""
    rails = config["guardrails"]
    actions = config["actions"]
    reasons = []
    if (session.elapsed_s or 0) < rails["grace_period_s"]:
        reasons.append("grace_period")
        actions = actions[:1]
    gap = session.seconds_since_last_break_end
    if session.breaks_in_session != 0 and (gap is None or gap < rails["min_gap_s"]):
        reasons.append("min_gap")
        actions = actions[:1]
    for word, used, of_action in (
        ("ads_per_hour", session.ads_last_hour, "ads"),
        ("ad_seconds_per_hour", session.ad_seconds_last_hour, "max_duration_s"),
    ):
        left = rails[word] - used if used is not None else 0
        kept = [a for a in actions if a.get(of_action, 0) <= left]
        if len(kept) < len(actions):
            reasons.append(word)
            actions = kept
    return actions, reasons


def choose_fixed(config, name, eligible, session):
    """The first rule that holds; where its action is masked, the most ads below it."""
    played, elapsed_s = session.tracks_played or 0, session.elapsed_s or 0
    for rule in config["policies"][name]["rules"]:
        if played >= rule["tracks_played"] and elapsed_s >= rule["elapsed_s"]:
            break
    wanted = next(a for a in config["actions"] if a["name"] == rule["action"])
    action = [a for a in eligible if a["ads"] <= wanted["ads"]][-1]
    if action is wanted:
        return action, rule.get("cooldown_s", action["cooldown_s"])
    return action, action["cooldown_s"]


def draw(parameters):
    if "alpha" in parameters:
        return random.betavariate(parameters["alpha"], parameters["beta"])
    return random.gauss(parameters["mean"], parameters["variance"] ** 0.5)


def choose_thompson(policy, eligible, posteriors):
    """The action whose draw is best; None where no action with ads has a posterior."""
    usable = []
    for action in eligible:
        if not posteriors.get(action["name"]):
            break
        usable.append(action)
    if not usable:
        return None
    if random.random() < policy["floor"]:
        return random.choice(usable)
    return max(usable, key=lambda action: draw(posteriors[action["name"]]))


def decide(config, variant, session, posteriors):
    name = config["variants"][variant]
    policy = config["policies"][name]
    learned = policy["kind"] == "thompson"
    if session.tier == config["guardrails"]["ad_free_tier"]:
        none = config["actions"][0]
        status = "unsolicited" if posteriors else "by_design"
        return Decided(none, none["cooldown_s"], name, status, ["ad_free"])

    eligible, reasons = mask(config, session)
    if not learned:
        action, cooldown_s = choose_fixed(config, name, eligible, session)
        status = "unsolicited" if posteriors else "by_design"
        return Decided(action, cooldown_s, name, status, reasons + ["rule"])

    missing = missing_of(config, posteriors)
    status = "complete"
    if missing:
        status = "absent" if len(missing) == len(config["actions"]) else "partial"
    action = choose_thompson(policy, eligible, posteriors or {})
    if action:
        return Decided(action, action["cooldown_s"], name, status, reasons + ["policy"])
    fallback = policy["fallback"]
    action, cooldown_s = choose_fixed(config, fallback, eligible, session)
    return Decided(action, cooldown_s, fallback, status, reasons + ["fallback", "rule"])
