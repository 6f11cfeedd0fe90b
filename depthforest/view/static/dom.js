// Small helpers. Texts that come from files are only ever set as text, never as HTML.

export const $ = (id) => document.getElementById(id);

export function made(tag, text, attributes = {}) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  return Object.assign(node, attributes);
}

export function setOptions(select, entries, value) {
  select.replaceChildren(...entries.map(([v, text]) => made("option", text, { value: v })));
  select.value = value;
}

// the message above the panes; an empty text removes it
export function say(text) {
  if ($("message_text").textContent === text) return;
  $("message_text").textContent = text;
  $("message").hidden = !text;
}

export function saveAs(content, name) {
  const link = made("a", undefined, { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// browsers block the clipboard API over plain http on a network, so the text is selected and copied the old way
export async function copy(node, button) {
  try {
    await navigator.clipboard.writeText(node.textContent);
  } catch {
    getSelection().selectAllChildren(node);
    document.execCommand("copy");
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}
