// On the page that a result led to: what was looked for is marked; the address is then as it was.
export async function marksAsked(code) {
  const address = new URL(location);
  const marks = address.searchParams.get("h");
  if (marks === null) return;
  address.searchParams.delete("h");
  history.replaceState(history.state, "", address);
  try {
    const { markIn } = await import(code);
    const article = document.querySelector("article");
    if (article && marks) markIn(article, marks.split("|"));
  } catch {
    // no network: the page is whole without marks
  }
}
