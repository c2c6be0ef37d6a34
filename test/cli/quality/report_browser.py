# SPDX-License-Identifier: Apache-2.0
"""report_browser.py: opens pages in headless chromium, light and dark, 400 and 1400 pixels wide, and says what is wrong:
a request other than the page itself, a message on the console, something wider than the window, labels of a picture
that overlap, a picture in which the colour of a curve is not to be seen. Arguments: the browser, the pages. With
--keep DIR pictures of the whole pages stay there, for people."""
import base64, fcntl, json, os, subprocess, sys, tempfile

# Everything about a page that needs no picture; a list of what is wrong, and the rectangles of pictures with
# colours.
LOOK = r"""(() => {
  const wrong = [], wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) wrong.push("scrolls: " + wide + " of " + innerWidth);
  for (const e of document.querySelectorAll("body *"))
    if (e.getBoundingClientRect().right > innerWidth + 0.5) wrong.push(e.tagName + " " + e.className + " is too wide");
  const pictures = [];
  for (const svg of document.querySelectorAll("svg")) {
    const name = svg.querySelector("title").textContent, box = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
    for (const [t, r] of texts)
      if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1)
        wrong.push(name + ": '" + t + "' is cut off");
    for (let i = 0; i < texts.length; i++)
      for (let j = 0; j < i; j++) {
        const a = texts[i][1], b = texts[j][1];
        const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (x > 1 && y > 0.3 * Math.min(a.height, b.height))
          wrong.push(name + ": '" + texts[i][0] + "' and '" + texts[j][0] + "' overlap");
      }
    const colors = new Set();
    for (const g of svg.querySelectorAll("g[class^=s]"))
      if ([...g.querySelectorAll("path.line,path.bar,path.dot,path.mark,.heat path,path[fill]")]
          .some(p => p.getAttribute("d"))) colors.add(getComputedStyle(g).color);
    pictures.push({name, x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height,
                   colors: [...colors]});
  }
  return {wrong, pictures, paper: getComputedStyle(document.body).backgroundColor};
})()"""

# How many pixels of each picture in an image of the page have each of its colours, or at least two thirds of
# it where an edge mixes it with the paper.
COUNT = r"""(async (data, pictures, paper) => {
  const numbers = c => c.match(/\d+/g).map(Number);
  const apart = (a, b) => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) + Math.abs(a[2] - b[2]);
  const image = await createImageBitmap(await (await fetch("data:image/png;base64," + data)).blob());
  const canvas = new OffscreenCanvas(image.width, image.height), pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  return pictures.map(r => {
    const p = pen.getImageData(Math.round(r.x), Math.round(r.y), Math.round(r.width), Math.round(r.height)).data;
    return r.colors.map(c => {
      const color = numbers(c), most = apart(color, numbers(paper)) / 3;
      let n = 0;
      for (let i = 0; i < p.length; i += 4) n += apart(color, [p[i], p[i + 1], p[i + 2]]) < most;
      return n;
    });
  });
})"""


class Browser:
    """The browser behind its debugging pipe: descriptors 3 and 4, messages of JSON ended by a zero byte."""

    def __init__(self, program, profile):
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()
        # not among 3 and 4, which the child gives away
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_read, back_write)]
        os.close(to_read)
        os.close(back_write)

        def child():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        words = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-extensions", "--disable-background-networking", "--disable-component-update",
                 "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir=" + profile, "about:blank"]
        self.process = subprocess.Popen(words, preexec_fn=child, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in high:
            os.close(fd)
        self.number, self.rest, self.events = 0, b"", []

    def read(self):
        while b"\0" not in self.rest:
            part = os.read(self.back, 1 << 20)
            if not part:
                print("the browser went away")
                sys.exit(77)
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(method + ": " + answer["error"]["message"])
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, name):
        while not any(e.get("method") == name for e in self.events):
            self.events.append(self.read())

    def tab(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(domain + ".enable", session)
        return session

    def value(self, session, expression):
        answer = self.call("Runtime.evaluate", session, expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            sys.exit(json.dumps(answer["exceptionDetails"])[:500])
        return answer["result"]["value"]


def look(browser, page, counter, path, width, scheme, keep):
    wrong = []
    browser.call("Emulation.setDeviceMetricsOverride", page, width=width, height=900, deviceScaleFactor=1, mobile=False)
    browser.call("Emulation.setEmulatedMedia", page, features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.events.clear()
    browser.call("Page.navigate", page, url="file://" + os.path.abspath(path))
    browser.wait_for("Page.loadEventFired")
    seen = browser.value(page, LOOK)
    wrong += seen["wrong"]
    dark = sum(map(int, seen["paper"].strip("rgb()").split(","))) < 384
    if dark != (scheme == "dark"):
        wrong.append("the paper is " + seen["paper"])
    data = browser.call("Page.captureScreenshot", page, format="png", captureBeyondViewport=True)["data"]
    arguments = ",".join(map(json.dumps, (data, seen["pictures"], seen["paper"])))
    for picture, counts in zip(seen["pictures"], browser.value(counter, "%s(%s)" % (COUNT, arguments))):
        if not picture["colors"]:
            wrong.append(picture["name"] + ": nothing is drawn")
        for color, n in zip(picture["colors"], counts):
            if n < 8:
                wrong.append("%s: %d pixels of %s" % (picture["name"], n, color))
    if keep:
        name = "%s-%d-%s.png" % (os.path.splitext(os.path.basename(path))[0], width, scheme)
        with open(os.path.join(keep, name), "wb") as f:
            f.write(base64.b64decode(data))
    for event in browser.events:
        method = event.get("method")
        if event.get("sessionId") == page and method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            wrong.append("console: " + json.dumps(event["params"])[:300])
        asked = event["params"]["request"]["url"] if method == "Network.requestWillBeSent" else None
        if asked and event["sessionId"] == page and not asked.startswith("file://" + os.path.abspath(path)):
            wrong.append("asks for " + asked[:200])
    return len(seen["pictures"]), wrong


def main():
    arguments, keep = sys.argv[1:], None
    if "--keep" in arguments:
        at = arguments.index("--keep")
        keep = arguments[at + 1]
        del arguments[at:at + 2]
    pictures, bad = 0, False
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(arguments[0], profile)
        counter, page = browser.tab(), browser.tab()  # only the last one is drawn
        for path in arguments[1:]:
            for width in 400, 1000, 1400:
                for scheme in "light", "dark":
                    n, wrong = look(browser, page, counter, path, width, scheme, keep)
                    pictures += n
                    for line in wrong:
                        bad = True
                        print("%s, %d pixels, %s: %s" % (os.path.basename(path), width, scheme, line))
        browser.call("Browser.close")
        browser.process.wait(30)
    print("%d pages, %d pictures" % (len(arguments) - 1, pictures))
    sys.exit(bad)


main()
