"""The pages of a run in a real browser: headless Chromium, driven by its own debugging pipe.

A dam is shown in every mode, with pictures to look at; a shot of 240 frames of 100,000 vertices must open within two
seconds, the viewer and the report. Judged are the processor seconds of the browser and of the page until the first frame
stands: on an idle machine they are more than what passes on the clock, which on a busy one says nothing. The process
that draws is left out: without a graphics card it rasterises by itself.
"""

import base64
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import zlib

import numpy

COMMAND = os.environ["MENISCUS_COMMAND"]
OUT = pathlib.Path(sys.argv[1]).resolve()
GATE = 2.0
SCENE = {
    "meniscus": 1,
    "name": "dam",
    "frames": [1, 12],
    "domain": {"min": [0, 0, 0], "max": [0.8, 0.5, 0.4]},
    "resolution": {"divisions": 40},
    "colliders": [{"name": "rock", "shape": {"sphere": {"radius": 0.06}}, "transform": {"translate": [0.55, 0.06, 0.2]}}],
    "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.3, 0.3, 0.4]}}}],
}


class Browser:
    """Chromium with a pipe: messages are JSON, each ended by a zero byte."""

    def __init__(self, profile):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        words = ["chromium", "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--hide-scrollbars", "--no-first-run",
                 "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--window-size=1280,800", f"--user-data-dir={profile}"]

        def ends():
            # The browser reads from 3 and writes to 4.
            reading, writing = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(words, preexec_fn=ends, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.count, self.session = b"", 0, None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")

    def ask(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                part = os.read(self.read_end, 1 << 20)
                if not part:
                    raise RuntimeError("the browser has gone")
                self.rest += part
            line, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(line)
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def value(self, script):
        return self.ask("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def processor_seconds(self):
        """What the browser and its children but the one that draws have computed so far."""
        parents, used, kinds = {}, {}, {}
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                    kinds[int(entry.name)] = (entry / "cmdline").read_bytes()
                except OSError:
                    continue
                parents[int(entry.name)] = int(words[1])
                used[int(entry.name)] = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

        def ours(process):
            while process > 1 and process != self.process.pid:
                process = parents.get(process, 0)
            return process == self.process.pid

        return sum(s for p, s in used.items() if ours(p) and b"gpu-process" not in kinds.get(p, b""))

    def open_in(self, page, ready):
        """Processor seconds and seconds on the clock until a page is ready."""
        self.ask("Page.navigate", url="about:blank")
        time.sleep(1)
        before = self.processor_seconds()
        seconds = self.open(page, ready)
        return self.processor_seconds() - before, seconds

    def open(self, page, ready):
        """Seconds from the start of loading until `ready` holds, by the page's own clock."""
        self.ask("Page.navigate", url=page.resolve().as_uri() if isinstance(page, pathlib.Path) else page)
        end = time.time() + 120
        while time.time() < end:
            state = self.value(f"document.body ? [({ready}) ? performance.now() : null, document.body.dataset.fault || null, location.href] : null")
            if state and state[2] != "about:blank":
                if state[1]:
                    raise AssertionError(state[1])
                if state[0] is not None:
                    return state[0] / 1000
            time.sleep(0.01)
        raise AssertionError(f"{page} was never ready")

    def picture(self, path):
        data = self.ask("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))
        return pixels(path)

    def close(self):
        self.process.terminate()
        self.process.wait(20)


def pixels(path):
    """The colours of a PNG without interlacing, 8 bits a channel."""
    raw = path.read_bytes()
    at, data, width, height, channels = 8, b"", 0, 0, 0
    while at < len(raw):
        size = int.from_bytes(raw[at:at + 4], "big")
        kind, body = raw[at + 4:at + 8], raw[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big")
            channels = {2: 3, 6: 4}[body[9]]
        elif kind == b"IDAT":
            data += body
        at += 12 + size
    rows = numpy.frombuffer(zlib.decompress(data), numpy.uint8).reshape(height, 1 + channels * width)
    image = numpy.zeros((height, width * channels), numpy.uint8)
    for y in range(height):
        method, line = rows[y, 0], rows[y, 1:].astype(int)
        above = image[y - 1].astype(int) if y else numpy.zeros(width * channels, int)
        if method == 0:
            image[y] = line
        elif method == 2:
            image[y] = line + above
        else:
            out = [0] * (width * channels)
            up = above.tolist()
            for i, value in enumerate(line.tolist()):
                left = out[i - channels] if i >= channels else 0
                corner = up[i - channels] if i >= channels else 0
                if method == 1:
                    guess = left
                elif method == 3:
                    guess = (left + up[i]) // 2
                else:
                    p = left + up[i] - corner
                    guess = min((left, up[i], corner), key=lambda c: abs(p - c))
                out[i] = (value + guess) & 255
            image[y] = out
    return image.reshape(height, width, channels)[..., :3]


def ball(vertices, time_, wobble):
    """A wobbling ball of about this many vertices with velocity and viscosity, as PLY."""
    n = int(math.sqrt(vertices / 2))
    u, v = numpy.meshgrid(numpy.linspace(0.01, math.pi - 0.01, n), numpy.linspace(0, 2 * math.pi, 2 * n, endpoint=False), indexing="ij")
    r = 0.3 * (1 + wobble * numpy.sin(5 * u + time_) * numpy.cos(4 * v))
    x = numpy.stack([r * numpy.sin(u) * numpy.cos(v), 0.5 + r * numpy.cos(u), r * numpy.sin(u) * numpy.sin(v)], -1).reshape(-1, 3)
    values = numpy.zeros((len(x), 7), "<f4")
    values[:, :3], values[:, 3], values[:, 6] = x, numpy.sin(5 * u + time_).ravel(), 10 ** (3 * v.ravel() / math.pi - 3)
    a = (numpy.arange(n - 1)[:, None] * 2 * n + numpy.arange(2 * n)).ravel()
    b = (numpy.arange(n - 1)[:, None] * 2 * n + (numpy.arange(2 * n) + 1) % (2 * n)).ravel()
    faces = numpy.concatenate([numpy.stack([a, b, a + 2 * n], 1), numpy.stack([b, b + 2 * n, a + 2 * n], 1)])
    rows = numpy.empty(len(faces), numpy.dtype([("n", "u1"), ("v", "<i4", 3)]))
    rows["n"], rows["v"] = 3, faces
    names = "".join(f"property float {name}\n" for name in ("x", "y", "z", "vx", "vy", "vz", "viscosity"))
    header = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(x)}\n{names}element face {len(faces)}\n"
    return (header + "property list uchar int vertex_indices\nend_header\n").encode() + values.tobytes() + rows.tobytes(), len(x)


def large_cache(folder, small):
    """240 frames of 100,000 vertices, by the manifest of a small run; a dozen different ones, linked."""
    manifest = json.loads((small / "manifest.json").read_text())
    manifest.update(name="large", range=[1, 240], frames=list(range(1, 241)), colliders=[], sums={}, bounds=None)
    for name in ("surface", "report"):
        (folder / name).mkdir(parents=True)
    report = json.loads((small / "report/0012.json").read_text())
    vertices = 0
    for frame in range(1, 241):
        path = folder / f"surface/{frame:04}.ply"
        if frame <= 12:
            data, vertices = ball(100_000, 0.5 * frame, 0.1)
            path.write_bytes(data)
        else:
            os.link(folder / f"surface/{(frame - 1) % 12 + 1:04}.ply", path)
        report.update(frame=frame, colliders=[], litres=100 + math.sin(frame))
        (folder / f"report/{frame:04}.json").write_text(json.dumps(report))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "scene.json").write_text((small / "scene.json").read_text())
    return vertices


def run(folder, *words):
    subprocess.run([COMMAND, *map(str, words)], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="meniscus_viewer_", dir=OUT) as name:
        folder = pathlib.Path(name)
        (folder / "scene.json").write_text(json.dumps(SCENE))
        run(folder, "run", "scene.json", "-o", "dam", "--progress", "none")
        run(folder, "view", "dam", "-o", "dam.html")
        vertices = large_cache(folder / "large", folder / "dam")
        run(folder, "view", "large", "-o", "large.html")
        run(folder, "report", "large", "-o", "report.html", "--quality", "draft", "--tiles", "2")
        browser = Browser(folder / "profile")
        try:
            page = (folder / "dam.html").as_uri()
            pictures = {}
            for mode in ("liquid", "speed", "clay"):
                browser.ask("Page.navigate", url="about:blank")
                seconds = browser.open(f"{page}#frame=10&mode={mode}", "document.body.dataset.ready === '10'")
                pictures[mode] = browser.picture(OUT / f"viewer_{mode}.png").astype(int)
                assert browser.value("document.body.dataset.mode") == mode
            middle = {m: p[250:600, 300:900] for m, p in pictures.items()}
            for mode, picture in middle.items():
                assert picture.std() > 8, f"{mode}: the middle of the picture is empty"
            for a, b in (("liquid", "speed"), ("speed", "clay")):
                assert abs(middle[a] - middle[b]).mean() > 3, f"{a} and {b} look the same"
            # Hands: a step forward, and a turn.
            browser.ask("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight")
            end = time.time() + 20
            while browser.value("document.body.dataset.ready") != "11":
                assert time.time() < end, "the arrow key does nothing"
            before = browser.picture(OUT / "viewer_before.png").astype(int)
            for kind, x in (("mousePressed", 600), ("mouseMoved", 800), ("mouseReleased", 800)):
                browser.ask("Input.dispatchMouseEvent", type=kind, x=x, y=400, button="left", buttons=1, clickCount=1)
            after = browser.picture(OUT / "viewer_turned.png").astype(int)
            assert abs(after - before).mean() > 1, "dragging does not turn the view"
            seconds, clock = browser.open_in(folder / "large.html", "document.body.dataset.ready === '1'")
            size = (folder / "large.html").stat().st_size
            names = browser.value("[...document.querySelectorAll('#modes button')].map((b) => b.textContent).join(' ')")
            assert "Viscosity" in names, names
            browser.value("[...document.querySelectorAll('#modes button')].find((b) => b.textContent === 'Viscosity').click()")
            picture = browser.picture(OUT / "viewer_viscosity.png")
            assert picture[250:600, 300:900].std() > 8
            report, report_clock = browser.open_in(folder / "report.html", "document.readyState === 'complete' && document.querySelectorAll('svg').length > 5")
            browser.picture(OUT / "report.png")
            print(f"viewer: 240 frames of {vertices} vertices, {size / 1e6:.0f} MB, opens in {seconds:.2f} processor seconds "
                  f"({clock:.1f} s on the clock at a load of {os.getloadavg()[0]:.0f}); report in {report:.2f} ({report_clock:.1f}); buttons: {names}")
            slow = [n for n, s in (("viewer", seconds), ("report", report)) if s > GATE]
            assert not slow, f"{slow} took more than {GATE} s to open"
        finally:
            browser.close()


if __name__ == "__main__":
    main()
