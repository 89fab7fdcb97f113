"use strict";
// Keeps an open page current, and says when it is not. Every page works without this script.
//
// The page asks the gateway again and again for changes. Each response proves that the gateway is reachable and the session is
// open. After a change, and after the time that its parts state, the page loads itself again and adopts the newer parts.

// Times in milliseconds. The gateway answers a request for changes after a second at the latest.
const answerTime = 3000;
const retryTime = 1000;
const loadTime = 20000;
const loadPause = 500;
// The age at which the page is old, whatever became of its requests: the browser may have stopped it for a while.
const maximumSilence = 4500;
const maximumAge = 15000;

function follow(bar) {
  const [label, time, badge] = ["[data-label]", "time", "[data-live-state]"].map((name) => bar.querySelector(name));
  const [notice, text, link] = ["[data-trouble]", "[data-text]", "[data-log-in]"].map((name) => bar.querySelector(name));
  // Absolute, because a path that begins with two slashes would name another host.
  const address = new URL(bar.dataset.page || location.href, location.origin);
  address.hash = "";
  const session = tokenOf(document);
  let position = "0";
  // When the gateway was heard last, by the clock of this browser and by its own, and when the parts were loaded.
  let heard = Date.now();
  let heardAt = time.textContent;
  let loaded = Date.now();
  let trouble = null;
  let hasEnded = false;
  // The pending or running load of the parts, and whether they have to be loaded once more after it.
  let load = null;
  let needsLoad = false;

  const parts = () => Array.from(document.querySelectorAll("[data-refresh]"));
  const period = () => Math.min(...parts().map((part) => Number(part.dataset.refresh)));

  function show(newTrouble) {
    trouble = newTrouble;
    if (trouble && trouble.hasEnded) hasEnded = true;
    const sentence = trouble ? trouble.sentence(heardAt, time.textContent) : "";
    document.body.dataset.state = trouble ? "old" : "current";
    badge.hidden = Boolean(trouble) || parts().length === 0;
    label.textContent = parts().length === 0 ? "As of" : "Updated at";
    if (text.textContent !== sentence) text.textContent = sentence;
    link.hidden = !(trouble && trouble.hasEnded);
    link.href = "/login?next=" + encodeURIComponent(address.pathname + address.search);
    notice.hidden = !trouble;
  }

  // Requests the page again, and nothing else until it is there.
  function reload() {
    location.replace(address);
    return new Promise(() => {});
  }

  async function ask() {
    const separator = bar.dataset.live.includes("?") ? "&" : "?";
    const answer = parse(await request(bar.dataset.live + separator + "after=" + position, answerTime));
    // The forms of a page belong to the session that it was made for.
    if (hasEnded) return reload();
    heard = Date.now();
    heardAt = answer.at;
    position = String(answer.next);
    if (parts().length === 0) show(null);
    else if (answer.changed || trouble || Date.now() - loaded >= period()) loadSoon();
  }

  function loadSoon() {
    if (load) return void (needsLoad = true);
    load = pause(loadPause - (Date.now() - loaded)).then(loadParts).catch(show).finally(() => {
      load = null;
      if (needsLoad) loadSoon();
    });
  }

  async function loadParts() {
    needsLoad = false;
    const page = new DOMParser().parseFromString(await request(address, loadTime), "text/html");
    const newer = page.querySelectorAll("[data-refresh]");
    if (!page.querySelector("[data-live]")) throw unreachable;
    if (tokenOf(page) !== session || newer.length !== parts().length) return reload();
    parts().forEach((part, index) => update(part, newer[index]));
    time.textContent = page.querySelector("[data-live] time").textContent;
    loaded = heard = Date.now();
    heardAt = time.textContent;
    show(null);
  }

  // Without an answer, for whatever reason, the page must not look current.
  function check() {
    const isOld = Date.now() - heard > maximumSilence || (parts().length > 0 && Date.now() - loaded > maximumAge);
    if (isOld && !trouble) show(old);
  }

  function noteFailure(error) {
    // A browser may break off the requests of a page in the background.
    show(document.hidden && error === unreachable ? old : error);
    return pause(retryTime);
  }

  async function run() {
    for (;;) {
      if (document.hidden) await new Promise((go) => document.addEventListener("visibilitychange", go, { once: true }));
      else await ask().catch(noteFailure);
    }
  }

  show(null);
  setInterval(check, 500);
  document.addEventListener("visibilitychange", check);
  window.addEventListener("pageshow", check);
  run();
}

// A reason why a page is not current.
class Trouble extends Error {
  constructor(sentence, hasEnded = false) {
    super();
    this.sentence = sentence;
    this.hasEnded = hasEnded;
  }
}

const unreachable = new Trouble((heard, shown) => `Not reachable since ${heard} UTC. The page shows the state of ${shown} UTC.`);
const ended = new Trouble((heard, shown) => `Your session has ended. The page shows the state of ${shown} UTC.`, true);
const old = new Trouble((heard, shown) => `Not updated since ${shown} UTC.`);
const failed = (reason) => new Trouble((heard, shown) => `Not updated since ${shown} UTC: ${reason}`);

// Returns the text of a resource of the console.
async function request(path, limit) {
  let response, text;
  try {
    const fields = { "X-Console-Refresh": "1" };
    response = await fetch(path, { headers: fields, redirect: "manual", cache: "no-store", signal: AbortSignal.timeout(limit) });
    text = await response.text();
  } catch (error) {
    if (limit === loadTime && error.name === "TimeoutError") throw failed(`the page takes more than ${limit / 1000} s.`);
    throw unreachable;
  }
  // A proxy may redirect to its own login.
  if (response.type === "opaqueredirect" || response.status === 401) throw ended;
  // A proxy says so in the place of the gateway.
  if (response.status === 502 || response.status === 504) throw unreachable;
  if (response.ok) return text;
  const detail = new DOMParser().parseFromString(text, "text/html").querySelector("[data-detail]");
  throw failed(detail ? detail.textContent : `status ${response.status}.`);
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw unreachable;
  }
}

const tokenOf = (page) => page.querySelector(".account input[name=token]")?.value;
const pause = (time) => new Promise((go) => setTimeout(go, Math.max(0, time)));

// Makes an element equal to a newer one. What has not changed stays as it is, with its focus and its place in the view.
function update(element, newer) {
  if (element.isEqualNode(newer)) return;
  if (element.nodeType !== Node.ELEMENT_NODE || element.nodeName !== newer.nodeName) return element.replaceWith(newer);
  // The user opens details, and the script marks new rows.
  const kept = element.dataset.row ? "class" : "open";
  for (const name of element.getAttributeNames()) {
    if (name !== kept && !newer.hasAttribute(name)) element.removeAttribute(name);
  }
  for (const name of newer.getAttributeNames()) {
    if (element.getAttribute(name) !== newer.getAttribute(name)) element.setAttribute(name, newer.getAttribute(name));
  }
  // Rows keep their identity wherever they move.
  const rows = new Map(Array.from(element.children, (child) => [child.dataset.row, child]));
  let next = element.firstChild;
  for (const child of Array.from(newer.childNodes)) {
    const row = child.dataset?.row;
    let same = row ? rows.get(row) : next;
    if (!row && same?.dataset?.row) same = null;
    rows.delete(row);
    if (!same) {
      element.insertBefore(child, next);
      if (row) child.classList.add("new");
      continue;
    }
    if (same === next) next = next.nextSibling;
    else element.insertBefore(same, next);
    update(same, child);
  }
  while (next) {
    const following = next.nextSibling;
    next.remove();
    next = following;
  }
}

document.querySelectorAll("[data-live]").forEach(follow);
