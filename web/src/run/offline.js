// Let pages that were read once open again without a network: see sw.js. The page names the service worker where the site has one.
export function keepForOffline() {
  const address = document.querySelector("meta[name=offline]")?.content;
  if (!address || !navigator.serviceWorker) return;
  const alreadyKept = Boolean(navigator.serviceWorker.controller);
  const begin = async () => {
    try {
      await navigator.serviceWorker.register(new URL(address, location));
      if (alreadyKept) return;
      const { active } = await navigator.serviceWorker.ready;
      const loaded = performance.getEntriesByType("resource").map(({ name }) => name);
      active.postMessage({ keep: [location.href.split("#")[0], ...loaded] });
    } catch {
      // not allowed here, as in some private windows
    }
  };
  if (document.readyState === "complete") begin();
  else addEventListener("load", begin, { once: true });
}
