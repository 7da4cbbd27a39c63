// The site's service worker: pages that were read once open again without a network. It lies at the site's root and keeps to it.
//
// It cannot hold back an update: a page comes from the network whenever that answers, and what it then asks for by a name that holds
// its content's hash is right by that name. The cache is a second choice for pages and the first for named content, nothing else.

const CACHE = `warpwise ${self.registration.scope}`; // runtime.js uses it too
const NAMED = /\.[0-9a-f]{8,}\.(min\.)?\w+$/; // bundle.0123abcd.min.js: the same name is the same bytes
const PACKED = /\/python\.[0-9a-f]+\.bin$/; // the page keeps it itself, and shows its progress
const PATIENCE = 4000; // ms that a network which does not answer is waited for, where there is something kept

self.addEventListener("install", (event) => event.waitUntil(self.skipWaiting()));

self.addEventListener("activate", (event) => event.waitUntil(Promise.all([self.clients.claim(), sweep()])));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const address = new URL(request.url);
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope) || request.headers.has("range") || PACKED.test(address.pathname)) return;
  event.respondWith(NAMED.test(address.pathname) ? keptFirst(event) : networkFirst(event));
});

// A page tells what it has loaded before there was a service worker.
self.addEventListener("message", (event) => {
  if (Array.isArray(event.data?.keep)) event.waitUntil(keep(event.data.keep));
});

async function keptFirst(event) {
  const { request } = event;
  const cache = await caches.open(CACHE);
  const kept = await cache.match(request, { ignoreVary: true });
  if (kept) return kept;
  const response = await fetch(request);
  event.waitUntil(store(cache, request, response.clone()));
  return response;
}

async function networkFirst(event) {
  const { request } = event;
  const cache = await caches.open(CACHE);
  // A page is kept once, whatever is asked of it: ?q= opens its search, ?h= marks words in it.
  const key = request.mode === "navigate" ? request.url.replace(/[?#].*/, "") : request;
  const answer = fetch(request).then((response) => (event.waitUntil(store(cache, key, response.clone())), response));
  const kept = await cache.match(request, { ignoreVary: true, ignoreSearch: request.mode === "navigate" });
  if (!kept) return answer;
  const patience = new Promise((resolve) => setTimeout(() => resolve(kept), PATIENCE));
  return Promise.race([answer.catch(() => kept), patience]);
}

// Only whole answers of this site; a full disk is no reason to fail.
async function store(cache, request, response) {
  if (response.status !== 200 || response.type !== "basic" || response.redirected) return;
  try {
    await cache.put(request, response);
  } catch {
    // nothing is kept then
  }
}

async function keep(addresses) {
  const cache = await caches.open(CACHE);
  for (const address of addresses.filter((address) => String(address).startsWith(self.registration.scope) && !PACKED.test(address))) {
    const request = new Request(address);
    if (NAMED.test(new URL(address).pathname) && (await cache.match(request))) continue;
    try {
      await store(cache, request, await fetch(request));
    } catch {
      // gone offline meanwhile
    }
  }
}

// Drop named content that no kept page leads to any more, directly or through another file: what older versions of the site left.
async function sweep() {
  const cache = await caches.open(CACHE);
  const requests = await cache.keys();
  // The search's files share a part of their names, which its index.json tells.
  const name = ({ url }) => /[^/]*$/.exec(new URL(url).pathname)[0].replace(/^[wct][\d-]+\.([0-9a-f]+)\.json$/, "$1");
  const texts = new Map();
  for (const request of requests) {
    if (/\.(css|js|htm)$|\/search\/index\.json$|\/[^.]*$/.test(new URL(request.url).pathname)) texts.set(request.url, await (await cache.match(request)).text());
  }
  let reached = requests.filter(({ url }) => !NAMED.test(new URL(url).pathname));
  const seen = new Set(reached);
  while (reached.length) {
    const text = reached.map(({ url }) => texts.get(url) ?? "").join("\n");
    reached = requests.filter((request) => !seen.has(request) && text.includes(name(request)));
    for (const request of reached) seen.add(request);
  }
  for (const request of requests) if (!seen.has(request)) await cache.delete(request);
}
