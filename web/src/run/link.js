// A link that carries a snippet in its fragment, which no server sees: its parameters in the open, an edited text packed.
//   #run=bank-conflicts/stride.py&STRIDE=32      #run=bank-conflicts/stride.py&code=<deflate, base64url>

const LONGEST = 200_000; // characters of an unpacked text: a link cannot fill the memory

export async function linkTo(snippet, values, text) {
  const address = new URL(location.href);
  const fragment = new URLSearchParams({ run: snippet, ...values });
  if (text !== undefined) {
    const packed = await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer();
    const letters = btoa(Array.from(new Uint8Array(packed), (byte) => String.fromCharCode(byte)).join(""));
    fragment.set("code", letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", ""));
  }
  // The slash of the snippet's name may stand as it is.
  address.hash = fragment.toString().replaceAll("%2F", "/");
  return address.href;
}

// Gives {values, text}; text is undefined where the link carries none. Throws where it cannot be read.
export async function linked() {
  const { run, code, ...values } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  if (code === undefined) return { values };
  const letters = atob(code.replaceAll("-", "+").replaceAll("_", "/"));
  const packed = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw")).pipeThrough(new TextDecoderStream("utf-8", { fatal: true })).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { values, text };
    text += value;
    if (text.length > LONGEST) throw new Error("too long");
  }
}
