"""Drive a headless Chromium over its DevTools protocol, as far as the book's tests need it."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from tornado.websocket import WebSocketClientConnection, websocket_connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 30.0
"""Seconds to wait for anything the browser should do."""

Message = dict[str, Any]


def find_browser() -> str | None:
    """Path of a Chromium-like browser, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One browser process with one tab, whose events are kept as they come."""

    def __init__(self, executable: str) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [
                executable,
                "--headless=new",
                "--no-sandbox",  # the tests may run as root, where the sandbox refuses to start
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--remote-debugging-port=0",
                f"--user-data-dir={self._folder.name}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._loop = asyncio.new_event_loop()
        self._numbers = itertools.count(1)
        self.events: list[Message] = []
        self._socket: WebSocketClientConnection = self._wait(self._connect())
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """End the browser and remove its profile."""
        self._socket.close()
        self._process.terminate()
        self._process.wait(timeout=PATIENCE)
        self._loop.close()
        self._folder.cleanup()

    def call(self, method: str, **parameters: Any) -> Message:
        """Call a DevTools method and wait for its result; events on the way are kept."""
        number = next(self._numbers)
        message: Message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._wait(self._send(json.dumps(message)))
        while (answer := self._receive()).get("id") != number:
            continue
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        result: Message = answer["result"]
        return result

    def open(self, address: str) -> None:
        """Load a page and wait until it and its mathematics are laid out."""
        self.events.clear()
        answer = self.call("Page.navigate", url=address)
        if "errorText" in answer:
            raise RuntimeError(f"{address}: {answer['errorText']}")
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._receive()
        self.evaluate("window.MathJax && MathJax.startup ? MathJax.startup.promise : null")

    def evaluate(self, expression: str) -> Any:
        """Value of a JavaScript expression; promises are awaited."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """Evaluate an expression until it is true."""
        limit = time.monotonic() + PATIENCE
        while not (value := self.evaluate(expression)):
            if time.monotonic() > limit:
                raise TimeoutError(f"still false after {PATIENCE:.0f} s: {expression}")
            time.sleep(0.05)
        return value

    def look(self, *, dark: bool = False, width: int = 1200, height: int = 900) -> None:
        """Choose the colour scheme the reader prefers and the size of the window."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Save what the page looks like."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def requests(self) -> list[str]:
        """Addresses the page asked for since it was opened, embedded data left out."""
        sent = [event for event in self.events if event["method"] == "Network.requestWillBeSent"]
        addresses = [str(event["params"]["request"]["url"]) for event in sent]
        return [address for address in addresses if not address.startswith(("data:", "blob:"))]

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, exceptions and failed requests."""
        return [text for event in self.events if (text := _complaint(event))]

    async def _connect(self) -> WebSocketClientConnection:
        file = Path(self._folder.name) / "DevToolsActivePort"
        while not (file.exists() and len(lines := file.read_text().splitlines()) == 2):
            if self._process.poll() is not None:
                raise RuntimeError(f"the browser ended with status {self._process.returncode}")
            await asyncio.sleep(0.05)
        return await websocket_connect(
            f"ws://127.0.0.1:{lines[0]}{lines[1]}", max_message_size=256 * 2**20
        )

    async def _send(self, text: str) -> None:
        await self._socket.write_message(text)

    async def _read(self) -> str | bytes | None:
        return await self._socket.read_message()

    def _receive(self) -> Message:
        text = self._wait(self._read())
        if text is None:
            raise RuntimeError("the browser closed the connection")
        message: Message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def _wait(self, task: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(asyncio.wait_for(task, PATIENCE))


def _complaint(event: Message) -> str:
    """What a DevTools event says went wrong; empty if nothing did."""
    parameters = event["params"]
    match event["method"]:
        case "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            return str(details.get("exception", {}).get("description", details["text"]))
        case "Runtime.consoleAPICalled" if parameters["type"] in {"error", "warning", "assert"}:
            return " ".join(str(value.get("value", "")) for value in parameters["args"])
        case "Log.entryAdded" if parameters["entry"]["level"] in {"error", "warning"}:
            return str(parameters["entry"]["text"])
        case "Network.loadingFailed" if not parameters.get("canceled"):
            return str(parameters["errorText"])
    return ""
