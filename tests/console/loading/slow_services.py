"""The support bot's components, but for an executor that is slow beyond doubt: 2.5 s more in six calls of ten, by waiting.

Run as services.py, with the same options.
"""

import importlib.util
import sys
from dataclasses import replace

from sluicegate.console.demo.files import support_bot

spec = importlib.util.spec_from_file_location("support_bot_services", support_bot() / "services.py")
assert spec is not None
assert spec.loader is not None
services = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = services  # dataclasses look their module up
spec.loader.exec_module(services)

if __name__ == "__main__":
    slow = services.VERSIONS["executor/v2-slow"]
    services.VERSIONS["executor/v2-slow"] = replace(slow, slow=0.6, slow_ms=2500.0)
    services.main()
