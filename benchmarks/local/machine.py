"""How fast this machine is at the moment: what others do on it slows everything down, CPU time included."""

import time


def loop() -> float:
    """Microseconds of CPU for a thousand steps of plain Python; about 9 where nobody else is at work."""
    times = []
    for _ in range(5):
        started = time.process_time()
        for _ in range(50_000):
            pass
        times.append(time.process_time() - started)
    return min(times) / 50 * 1e6
